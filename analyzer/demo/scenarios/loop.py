"""Simulated time: what is to happen, in order of time."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any


class Loop:
    """A heap of calls; `now` is seconds since the start."""

    def __init__(self) -> None:
        self.now = 0.0
        self._serial = 0
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []

    def at(self, when: float, call: Callable[..., None], *args: Any) -> None:
        """Call at an instant, never in the past; calls of one instant keep their order."""
        self._serial += 1
        heappush(self._heap, (max(when, self.now), self._serial, call, args))

    def after(self, seconds: float, call: Callable[..., None], *args: Any) -> None:
        """Call after a while."""
        self.at(self.now + seconds, call, *args)

    def run(self) -> None:
        """Make every call there is."""
        while self._heap:
            self.now, _, call, args = heappop(self._heap)
            call(*args)
