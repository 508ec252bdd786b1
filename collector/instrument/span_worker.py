"""Builds spans off the engine's thread: a bounded queue that never blocks, and one thread that empties it."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from collector.instrument.span_spec import SpanSpec

log = logging.getLogger("pdscope.kv")

CAPACITY = 20_000
EMPTY_EVERY_S = 0.2
WIDTH = 9
"""Fields of a note, its kind first and None for what a kind has not."""


class SpanWorker:
    """Takes notes from the engine's thread and emits their spans from its own.

    The engine's thread lays a note down by itself, after looking whether there is room: `queue.extend(note)`
    while `len(queue) < limit`, else `full()`. That is one call of C; with cold caches one function of ours
    would cost more than the note, and a tuple left behind is walked by the engine's garbage collector. The
    engine's thread never wakes this one, for that costs a system call; the queue is emptied every 200 ms, and
    after each note the engine may have the interpreter.
    """

    def __init__(
        self,
        read: Callable[[list[Any]], Iterable[SpanSpec]],
        emit: Callable[[SpanSpec], None],
        capacity: int = CAPACITY,
    ) -> None:
        self._read = read
        self._emit = emit
        self.queue: deque[Any] = deque()
        self.limit = capacity * WIDTH
        self._closing = threading.Event()
        self._is_broken = False
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name="pdscope-kv", daemon=True)
        self._thread.start()

    def full(self) -> None:
        """Count a note that found no room."""
        self.dropped += 1

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
        queue = self.queue
        while queue:
            try:
                for spec in self._read([queue.popleft() for _ in range(WIDTH)]):
                    self._emit(spec)
            except Exception:
                if not self._is_broken:
                    log.exception(
                        "pdscope: a KV event could not be turned into spans; further ones stay silent"
                    )
                self._is_broken = True
            time.sleep(0)
