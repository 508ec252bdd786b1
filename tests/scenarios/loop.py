"""The event loop: a heap of (time, order of scheduling, call). Ties go to whoever was scheduled first."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class Loop:
    """Simulated time in whole nanoseconds from the start of the window."""

    def __init__(self) -> None:
        self.now = 0
        self._heap: list[tuple[int, int, Callable[..., None], tuple[object, ...]]] = []
        self._scheduled = 0

    def at(self, when: int, call: Callable[..., None], *args: object) -> None:
        """Run `call(*args)` at `when`; a time already past means now."""
        self._scheduled += 1
        heapq.heappush(self._heap, (max(when, self.now), self._scheduled, call, args))

    def run(self, events_max: int = 2_000_000) -> None:
        """Until nothing is left to happen. Raises RuntimeError when a model does not come to an end."""
        for _ in range(events_max):
            if not self._heap:
                return
            self.now, _, call, args = heapq.heappop(self._heap)
            call(*args)
        raise RuntimeError(
            f"still running after {events_max} events at {self.now / 1e9:.1f} s: a loop without end"
        )
