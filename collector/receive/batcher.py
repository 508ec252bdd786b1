"""Group commit: exports that arrive close together are kept together, and acknowledged when they are safe."""

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from collector.errors import CollectorError, StoreError, Unavailable
from collector.receive.commit import Refused
from collector.receive.errors import QueueFull
from collector.receive.export import Export, Keeper, Outcome
from collector.receive.metrics import ReceiveMetrics
from collector.receive.own_spans import SampledTracer
from collector.receive.settings import ReceiveSettings

_log = logging.getLogger(__name__)

SELF = "self"
"""Transport of pdscope's own spans: a batch of nothing else makes no span, so they never feed themselves."""


@dataclass(frozen=True)
class _Waiting:
    export: Export
    transport: str
    arrived: float
    done: "Future[Refused]"


class Batcher:
    """Collects checked exports and has them kept from one thread of its own. Thread-safe."""

    def __init__(
        self,
        keeper: Keeper,
        settings: ReceiveSettings,
        metrics: ReceiveMetrics,
        tracer: SampledTracer,
        linger: float | None = None,
    ):
        """linger: how long (seconds) an export waits for company; default: as the settings say."""
        self._keeper = keeper
        self._settings = settings
        self._linger = settings.linger if linger is None else linger
        self._metrics = metrics
        self._tracer = tracer
        self._queue: deque[_Waiting] = deque()
        self._queue_bytes = 0
        self._changed = threading.Condition()
        self._answered = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="pdscope-batcher", daemon=True)
        self._thread.start()

    def submit(self, export: Export, transport: str) -> "Future[Refused]":
        """Queue an export that was checked; the future ends when it is kept, or with why it was not.

        Raises QueueFull when too many bytes wait, Unavailable once closed.
        """
        waiting = _Waiting(export, transport, time.monotonic(), Future())
        size = len(export.body)
        with self._changed:
            if self._closed:
                raise Unavailable("pdscope is stopping; send this export again once it is back")
            if self._queue and self._queue_bytes + size > self._settings.max_queue_bytes:
                raise QueueFull(
                    f"{self._queue_bytes} bytes in {len(self._queue)} exports wait to be stored, "
                    f"the queue holds {self._settings.max_queue_bytes}; send this export again later"
                )
            self._queue.append(waiting)
            self._queue_bytes += size
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
            size = len(batch[0].export.body)
            while self._queue and size + len(self._queue[0].export.body) <= self._settings.max_batch_bytes:
                batch.append(self._queue.popleft())
                size += len(batch[-1].export.body)
            self._queue_bytes -= size
            self._show_queue()
            return batch

    def _departure(self) -> float:
        """When to stop waiting for company; clients just answered come back at once, and are let in."""
        linger = self._linger
        return max(self._queue[0].arrived + linger, self._answered + linger / 2)

    def _store(self, batch: Sequence[_Waiting]) -> None:
        started = time.monotonic()
        with self._span(batch):
            results = self._keep([waiting.export for waiting in batch])
        self._metrics.commit_seconds.observe(time.monotonic() - started)
        self._metrics.batch_exports.observe(len(batch))
        self._metrics.batch_spans.observe(sum(waiting.export.items for waiting in batch))
        for waiting, result in zip(batch, results, strict=True):
            if isinstance(result, CollectorError):
                waiting.done.set_exception(result)
            else:
                for reason, count in result.items():
                    self._metrics.refused_spans.labels(reason).inc(count)
                waiting.done.set_result(result)
        self._answered = time.monotonic()

    def _keep(self, exports: Sequence[Export]) -> list[Outcome]:
        try:
            results = self._keeper.keep(exports)
        except Exception as error:
            # Whatever it was, this thread must live on and the clients must keep their data.
            _log.exception("keeping %d exports failed", len(exports))
            return [StoreError(f"storing failed: {type(error).__name__}")] * len(exports)
        for failure in {str(result) for result in results if isinstance(result, StoreError)}:
            _log.error("keeping %d exports failed: %s", len(exports), failure)
        return results

    def _span(self, batch: Sequence[_Waiting]) -> AbstractContextManager[object]:
        if all(waiting.transport == SELF for waiting in batch):
            return nullcontext()
        return self._tracer.span(
            "pdscope.commit",
            lambda: {
                "pdscope.batch.exports": len(batch),
                "pdscope.batch.spans": sum(waiting.export.items for waiting in batch),
                "pdscope.batch.bytes": sum(len(waiting.export.body) for waiting in batch),
            },
        )

    def _show_queue(self) -> None:
        self._metrics.queue_exports.set(len(self._queue))
        self._metrics.queue_bytes.set(self._queue_bytes)
