"""Paths between the pools: transfers share a path equally, each within its own ceiling."""

from __future__ import annotations

from collections.abc import Callable

from .loop import Loop
from .spec import NS, Links


class Link:
    """One path. `rate` and `ceiling` are bytes per second of the path and of a single transfer."""

    def __init__(self, loop: Loop, rate: float, ceiling: float) -> None:
        self.loop, self.rate, self.ceiling = loop, rate, ceiling
        self._left: dict[int, float] = {}
        self._done: dict[int, Callable[[], None]] = {}
        self._since = 0
        self._plan_number = 0
        self._flows = 0

    def send(self, nbytes: float, done: Callable[[], None]) -> None:
        """Move `nbytes` and call `done` when the last of them has arrived."""
        self._progress()
        self._flows += 1
        self._left[self._flows], self._done[self._flows] = nbytes, done
        self._plan()

    def _per_flow(self) -> float:
        return min(self.ceiling, self.rate / len(self._left))

    def _progress(self) -> None:
        if self._left:
            moved = self._per_flow() * (self.loop.now - self._since) / NS
            for flow in self._left:
                self._left[flow] -= moved
        self._since = self.loop.now

    def _plan(self) -> None:
        self._plan_number += 1
        if self._left:
            wait = max(0.0, min(self._left.values())) / self._per_flow()
            self.loop.at(self.loop.now + round(wait * NS) + 1, self._arrived, self._plan_number)

    def _arrived(self, plan_number: int) -> None:
        if plan_number != self._plan_number:
            return
        self._progress()
        finished = [flow for flow, left in self._left.items() if left <= self.ceiling / NS]
        calls = [self._done.pop(flow) for flow in finished if self._left.pop(flow) is not None]
        self._plan()
        for call in calls:
            call()


class Poster:
    """The threads of a worker that post descriptors (one per rank); each posts one transfer after another."""

    THREADS = 4

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self._free_at = [0] * self.THREADS

    def post(self, duration: int) -> tuple[int, int]:
        """(start, end) of posting, ns."""
        thread = min(range(self.THREADS), key=self._free_at.__getitem__)
        start = max(self.loop.now, self._free_at[thread])
        self._free_at[thread] = start + duration
        return start, self._free_at[thread]


class Fabric:
    """All paths of a deployment and the connections already set up on them."""

    def __init__(self, loop: Loop, links: Links) -> None:
        self.loop, self.links = loop, links
        self._paths: dict[tuple[int, int], Link] = {}
        self._connected_at: dict[tuple[int, int], int] = {}

    def path(self, prefill: int, decode: int) -> Link:
        """The path of a pair. Lost packets are sent again: they cost goodput."""
        slow = (prefill, decode) in self.links.slow_pairs
        key = (prefill, decode) if slow else (-1, -1) if self.links.shared else (prefill, -1)
        if key not in self._paths:
            goodput = 1e9 * (1.0 - self.links.loss)
            ceiling = self.links.slow_gb_s if slow else self.links.flow_gb_s
            self._paths[key] = Link(self.loop, self.links.line_gb_s * goodput, ceiling * goodput)
        return self._paths[key]

    def connected(self, prefill: int, decode: int) -> int:
        """When the pair can exchange bytes: now, or after its first connection is set up."""
        ready = self._connected_at.setdefault(
            (prefill, decode), self.loop.now + round(self.links.connect_s * NS)
        )
        return max(ready, self.loop.now)
