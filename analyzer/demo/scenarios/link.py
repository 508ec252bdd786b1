"""A path for KV: transfers share it equally, none faster than its own cap."""

from collections.abc import Callable
from dataclasses import dataclass

from analyzer.demo.scenarios.loop import Loop


@dataclass
class _Flow:
    left: float
    cap: float
    done: Callable[[], None]
    rate: float = 0.0


class Path:
    """Processor sharing with caps (max-min fair); rates are bytes per second."""

    def __init__(self, loop: Loop, line: float) -> None:
        self.loop, self.line = loop, line
        self._flows: list[_Flow] = []
        self._since = 0.0
        self._version = 0

    def send(self, size: float, cap: float, done: Callable[[], None]) -> None:
        """Move `size` bytes; `done()` when the last has arrived."""
        self._progress()
        self._flows.append(_Flow(max(size, 1.0), cap, done))
        self._share()

    def _progress(self) -> None:
        for flow in self._flows:
            flow.left -= flow.rate * (self.loop.now - self._since)
        self._since = self.loop.now

    def _share(self) -> None:
        left, line = len(self._flows), self.line
        for flow in sorted(self._flows, key=lambda flow: flow.cap):
            flow.rate = min(flow.cap, line / left)
            line, left = line - flow.rate, left - 1
        self._version += 1
        if self._flows:
            soonest = min(flow.left / flow.rate for flow in self._flows)
            self.loop.after(max(soonest, 0.0), self._arrived, self._version)

    def _arrived(self, version: int) -> None:
        if version != self._version:
            return
        self._progress()
        finished = [flow for flow in self._flows if flow.left <= 1.0]
        self._flows = [flow for flow in self._flows if flow.left > 1.0]
        self._share()
        for flow in finished:
            flow.done()
