"""What happens to one request: the record a run leaves behind, in true time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .spec import NS
from .workload import Ask

Attributes = dict[str, int | float | str]


class Interval(NamedTuple):
    """One phase of one attempt on one process, [start, end] in ns."""

    phase: str
    start: int
    end: int
    worker: str
    attempt: int
    attributes: Attributes


class Release(NamedTuple):
    """KV given back, and on whose word."""

    at: int
    worker: str
    attempt: int
    reason: str


class Renewal(NamedTuple):
    """A lease that was prolonged."""

    at: int
    worker: str
    attempt: int
    expires: int


class Steps(NamedTuple):
    """`tokens` tokens from `start`: the i-th comes at start + i·first + growth·i·(i-1)/2 (ns)."""

    start: int
    tokens: int
    first: float
    growth: float

    def after(self, i: int) -> int:
        """When the i-th token (from 1) has been sampled, ns."""
        return self.start + round(i * self.first + self.growth * i * (i - 1) / 2)

    def at_or_after(self, when: int) -> int:
        """The first token that is sampled at `when` or later, or the last one."""
        low, high = 1, self.tokens
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.after(middle) >= when else (middle + 1, high)
        return low


@dataclass(eq=False)
class Life:
    """A request on its way. Instants are ns from the start of the window; None has not happened."""

    ask: Ask
    attempt: int = 1
    outcome: str = ""  # ok, cancelled, timeout, error; empty while it lives
    ended: int | None = None
    intervals: list[Interval] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)
    renewals: list[Renewal] = field(default_factory=list)
    dispatches: list[int] = field(default_factory=list)
    steps: list[Steps] = field(default_factory=list)
    preempted: list[tuple[int, int]] = field(default_factory=list)
    sampled_first: int | None = None
    sampled_last: int | None = None
    sent_first: int | None = None
    sent_last: int | None = None
    stalled_ns: int = 0
    local_tokens: int = 0
    came_to_prefill: int | None = None
    published: int | None = None
    lease_expires: int | None = None
    kv_held: bool = False  # prefill still holds its published KV
    late_read: bool = False
    orphan: str = ""  # unclaimed, leaked or reserved
    decode_has_it: int | None = None
    allocated: int | None = None
    visible: int | None = None  # its bytes have arrived
    joined: int | None = None
    failed_load: int | None = None
    prefill: int = -1
    decode: int = -1
    generated: int = 0

    @property
    def alive(self) -> bool:
        """Whether somebody still waits for it."""
        return not self.outcome

    def end(self, outcome: str, when: int) -> None:
        """It ends once; a second end is an error of the model."""
        if self.outcome:
            raise RuntimeError(f"request {self.ask.index} ended twice: {self.outcome}, then {outcome}")
        self.outcome, self.ended = outcome, when

    def spent(self, phase: str, start: int, end: int, worker: str, **attributes: int | float | str) -> None:
        """Note a phase that has ended."""
        self.intervals.append(Interval(phase, start, end, worker, self.attempt, attributes))

    def ttft_s(self) -> float | None:
        """Client's TTFT; censored at its age without a first token; None for a client that left."""
        if self.outcome == "cancelled" or self.ended is None:
            return None
        seen = self.sent_first if self.sent_first is not None else self.ended
        return (seen - self.ask.arrival) / NS

    def tpot_s(self) -> float | None:
        """Client's TPOT; None below two tokens or without an end."""
        if self.sent_first is None or self.sent_last is None or self.ask.output < 2 or self.outcome != "ok":
            return None
        return (self.sent_last - self.sent_first) / (self.ask.output - 1) / NS


class Load(NamedTuple):
    """State of a worker from `at` until the next one. Tokens for KV."""

    at: int
    queue: int  # waiting, not scheduled or not allocated
    waiting_kv: int  # decode: allocated, bytes not here; prefill: waiting for decode's allocation
    running: int
    kv_used: int
    pinned: int
