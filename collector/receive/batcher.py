"""Group commit: bodies that arrive close together share one insert, and are acknowledged when it is done."""

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from opentelemetry.trace import Tracer

from collector.errors import CollectorError, StoreError, Unavailable
from collector.receive.commit import Refused, Sink, commit
from collector.receive.errors import QueueFull
from collector.receive.metrics import ReceiveMetrics
from collector.receive.settings import ReceiveSettings

_log = logging.getLogger(__name__)

SELF = "self"
"""Transport of pdscope's own spans: a batch of nothing else makes no span, so they never feed themselves."""


@dataclass(frozen=True)
class _Waiting:
    body: bytes
    spans: int
    transport: str
    arrived: float
    done: "Future[Refused]"


class Batcher:
    """Collects checked bodies and stores them from one thread of its own. Thread-safe."""

    def __init__(self, sink: Sink, settings: ReceiveSettings, metrics: ReceiveMetrics, tracer: Tracer):
        self._sink = sink
        self._settings = settings
        self._metrics = metrics
        self._tracer = tracer
        self._queue: deque[_Waiting] = deque()
        self._queue_bytes = 0
        self._changed = threading.Condition()
        self._answered = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="pdscope-batcher", daemon=True)
        self._thread.start()

    def submit(self, body: bytes, spans: int, transport: str) -> "Future[Refused]":
        """Queue a body that was checked; the future ends when it is stored, or with why it was not.

        Raises QueueFull when too many bytes wait, Unavailable once closed.
        """
        waiting = _Waiting(body, spans, transport, time.monotonic(), Future())
        with self._changed:
            if self._closed:
                raise Unavailable("pdscope is stopping; send this export again once it is back")
            if self._queue and self._queue_bytes + len(body) > self._settings.max_queue_bytes:
                raise QueueFull(
                    f"{self._queue_bytes} bytes in {len(self._queue)} exports wait to be stored, "
                    f"the queue holds {self._settings.max_queue_bytes}; send this export again later"
                )
            self._queue.append(waiting)
            self._queue_bytes += len(body)
            self._show_queue()
            if len(self._queue) == 1 or self._queue_bytes >= self._settings.max_batch_bytes:
                self._changed.notify()
        return waiting.done

    def close(self) -> None:
        """Refuse new bodies, store those that wait, and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while batch := self._next_batch():
            wanted = [waiting for waiting in batch if waiting.done.set_running_or_notify_cancel()]
            if wanted:
                self._store(wanted)

    def _next_batch(self) -> list[_Waiting]:
        """Wait for bodies, then a little longer for company; empty when closed and drained."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closed)
            if not self._queue:
                return []
            self._changed.wait_for(
                lambda: self._closed or self._queue_bytes >= self._settings.max_batch_bytes,
                timeout=max(self._departure() - time.monotonic(), 0),
            )
            batch = [self._queue.popleft()]
            size = len(batch[0].body)
            while self._queue and size + len(self._queue[0].body) <= self._settings.max_batch_bytes:
                batch.append(self._queue.popleft())
                size += len(batch[-1].body)
            self._queue_bytes -= size
            self._show_queue()
            return batch

    def _departure(self) -> float:
        """When to stop waiting for company; clients just answered come back at once, and are let in."""
        linger = self._settings.linger
        return max(self._queue[0].arrived + linger, self._answered + linger / 2)

    def _store(self, batch: Sequence[_Waiting]) -> None:
        started = time.monotonic()
        with self._span(batch):
            results = self._commit([waiting.body for waiting in batch])
        self._metrics.insert_seconds.observe(time.monotonic() - started)
        self._metrics.batch_exports.observe(len(batch))
        self._metrics.batch_spans.observe(sum(waiting.spans for waiting in batch))
        for waiting, result in zip(batch, results, strict=True):
            if isinstance(result, CollectorError):
                waiting.done.set_exception(result)
            else:
                for reason, count in result.items():
                    self._metrics.refused_spans.labels(reason).inc(count)
                waiting.done.set_result(result)
        self._answered = time.monotonic()

    def _commit(self, bodies: Sequence[bytes]) -> list[Refused | CollectorError]:
        try:
            results = commit(self._sink, bodies)
        except Exception as error:
            # Whatever it was, this thread must live on and the clients must keep their data.
            _log.exception("storing %d exports failed", len(bodies))
            return [StoreError(f"storing failed: {type(error).__name__}")] * len(bodies)
        for failure in {str(result) for result in results if isinstance(result, StoreError)}:
            _log.error("storing %d exports failed: %s", len(bodies), failure)
        return results

    def _span(self, batch: Sequence[_Waiting]) -> AbstractContextManager[object]:
        if all(waiting.transport == SELF for waiting in batch):
            return nullcontext()
        return self._tracer.start_as_current_span(
            "pdscope.insert",
            attributes={
                "pdscope.batch.exports": len(batch),
                "pdscope.batch.spans": sum(waiting.spans for waiting in batch),
                "pdscope.batch.bytes": sum(len(waiting.body) for waiting in batch),
            },
        )

    def _show_queue(self) -> None:
        self._metrics.queue_exports.set(len(self._queue))
        self._metrics.queue_bytes.set(self._queue_bytes)
