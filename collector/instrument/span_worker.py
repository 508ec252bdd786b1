"""Builds spans off the engine's thread: a bounded queue that never blocks, and one thread that empties it."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from collector.instrument.kv_events import Event
from collector.instrument.span_spec import SpanSpec

log = logging.getLogger("pdscope.kv")

CAPACITY = 20_000
EMPTY_EVERY_S = 0.2


class SpanWorker:
    """Takes events from the engine's thread (under a microsecond each) and emits their spans from its own.

    A full queue drops the event and counts it. The engine's thread never wakes this one, for that costs a
    system call; the queue is emptied every 200 ms, and after each event the engine may have the interpreter.
    """

    def __init__(
        self,
        fold: Callable[[Event], list[SpanSpec]],
        emit: Callable[[SpanSpec], None],
        capacity: int = CAPACITY,
    ) -> None:
        self._fold = fold
        self._emit = emit
        self._capacity = capacity
        self._queue: deque[Any] = deque()
        self._noted = self._taken = 0
        self._closing = threading.Event()
        self._is_broken = False
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name="pdscope-kv", daemon=True)
        self._thread.start()

    def put(self, kind: type[Event], *fields: Any) -> None:
        """Queue an event by its kind and fields, in their order; drops it when the queue is full.

        They are laid down one by one (one call, so together): nothing is left on the engine's thread that its
        garbage collector would have to walk.
        """
        if self._noted - self._taken >= self._capacity:
            self.dropped += 1
            return
        self._noted += 1
        self._queue.extend((kind, *fields))

    def close(self, timeout_s: float = 2.0) -> None:
        """Emit what is queued and stop the thread."""
        self._closing.set()
        self._thread.join(timeout_s)
        if self.dropped:
            log.warning("pdscope: %d KV events were dropped because the queue was full", self.dropped)

    def _run(self) -> None:
        while not self._closing.wait(EMPTY_EVERY_S):
            self._empty()
        self._empty()

    def _empty(self) -> None:
        queue = self._queue
        while queue:
            try:
                kind = queue.popleft()
                event = kind._make([queue.popleft() for _ in kind._fields])
                self._taken += 1
                for spec in self._fold(event):
                    self._emit(spec)
            except Exception:
                if not self._is_broken:
                    log.exception(
                        "pdscope: a KV event could not be turned into spans; further ones stay silent"
                    )
                self._is_broken = True
            time.sleep(0)
