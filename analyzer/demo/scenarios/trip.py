"""One request on its way: what it asked for, and what happened to it where and when (seconds from start)."""

import random
from dataclasses import dataclass, field
from math import log

from analyzer.demo.scenarios.setup import Traffic

Value = str | int | float


@dataclass(frozen=True)
class Stay:
    """A phase spent at a worker."""

    phase: str
    worker: str
    start: float
    end: float
    attempt: int
    values: dict[str, Value]


@dataclass(frozen=True)
class Release:
    """KV given back."""

    at: float
    worker: str
    attempt: int
    reason: str


@dataclass
class Trip:
    """A request; `attempt` counts dispatches to prefill."""

    number: int
    arrived: float
    prompt: int
    output: int
    held: int
    """Tokens of the prompt that decode has already."""
    leaves_after: float | None
    stall_s: float
    luck: tuple[float, float, float, float]
    """Draws in 0-1 for what befalls it: routing, the hand-off's failure, leaving in between, noise."""
    attempt: int = 1
    prefill: int = -1
    decode: int = -1
    stays: list[Stay] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)
    renewals: list[tuple[float, str, int, float]] = field(default_factory=list)
    """(at, worker, attempt, new end of the lease)."""
    aside: list[tuple[float, float]] = field(default_factory=list)
    """From when to when it was set aside on decode."""
    tokens: list[float] = field(default_factory=list)
    """When each was sampled."""
    local_tokens: int = 0
    expired: bool = False
    published: bool = False
    outcome: str = ""
    ended: float | None = None
    sent: list[float] = field(default_factory=list)
    """When the client was sent each token."""

    @property
    def alive(self) -> bool:
        """Whether somebody still waits for it."""
        return not self.outcome

    def spent(
        self, phase: str, worker: str, start: float, end: float, attempt: int | None = None, **values: Value
    ) -> None:
        """Note a phase."""
        self.stays.append(Stay(phase, worker, start, end, attempt or self.attempt, values))


def draw(rng: random.Random, traffic: Traffic, number: int, arrived: float) -> Trip:
    """The next request of the traffic."""
    prompt = rng.lognormvariate(log(traffic.prompt), traffic.prompt_sigma)
    output = rng.lognormvariate(log(traffic.output), traffic.output_sigma)
    prompt = min(max(prompt, traffic.prompt / 3), traffic.prompt * 3)
    output = min(max(output, 2.0, traffic.output / 3), traffic.output * 3)
    draws = [rng.random() for _ in range(8)]
    if draws[0] < traffic.long_share:
        prompt *= traffic.long_factor
    leaves = draws[1] < traffic.leave_share
    if leaves:
        prompt *= traffic.leave_factor
    held = prompt * traffic.held_fraction if draws[2] < traffic.held_share else 0.0
    stalls = draws[3] < traffic.stall_share
    patience = traffic.leave_after_s * (0.5 + rng.random())
    lag = traffic.stall_s * (0.7 + 0.6 * rng.random())
    return Trip(
        number, arrived, round(prompt), round(output), round(held),
        patience if leaves else None, lag if stalls else 0.0,
        (draws[4], draws[5], draws[6], draws[7]),
    )  # fmt: skip
