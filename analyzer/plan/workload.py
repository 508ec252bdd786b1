"""The offered traffic: when requests arrive and how many tokens each brings and asks for."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analyzer.plan.errors import BadPlan, need_positive
from analyzer.plan.provenance import Label

MAX_REQUESTS = 5_000_000
MAX_TOKENS = 10_000_000
"""Longest prompt or output believed; anything above is taken for a broken row."""


class Columns(NamedTuple):
    """A workload's columns as arrays."""

    arrival_s: npt.NDArray[np.float64]
    prompt: npt.NDArray[np.int64]
    output: npt.NDArray[np.int64]
    uncached: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Workload:
    """Requests in order of arrival, as columns of equal length.

    `arrival_s` seconds from the start, not descending. `prompt` and `output` tokens, at least 1.
    `cached` prompt tokens whose KV the prefill side already holds, less than `prompt`.
    """

    arrival_s: tuple[float, ...]
    prompt: tuple[int, ...]
    output: tuple[int, ...]
    cached: tuple[int, ...]
    label: Label
    origin: str

    def __post_init__(self) -> None:
        lengths = {len(self.arrival_s), len(self.prompt), len(self.output), len(self.cached)}
        if len(lengths) != 1:
            raise BadPlan(f"workload {self.origin}: columns differ in length: {sorted(lengths)}")
        if not self.arrival_s:
            raise BadPlan(f"workload {self.origin} has no requests")
        if any(not 0 <= t < math.inf for t in self.arrival_s):
            raise BadPlan(f"workload {self.origin}: an arrival is negative or not a finite number")
        if any(b < a for a, b in pairwise(self.arrival_s)):
            raise BadPlan(f"workload {self.origin}: arrivals are not in order of time")
        if min(self.prompt) < 1 or min(self.output) < 1:
            raise BadPlan(f"workload {self.origin}: a request has no prompt or no output tokens")
        if any(not 0 <= c < p for c, p in zip(self.cached, self.prompt, strict=True)):
            raise BadPlan(f"workload {self.origin}: cached tokens must be 0 or more and less than the prompt")

    def __len__(self) -> int:
        return len(self.arrival_s)

    @property
    def span_s(self) -> float:
        """Seconds from time 0 to the last arrival."""
        return self.arrival_s[-1]

    def denser(self, factor: float) -> "Workload":
        """The same requests in the same order, arriving `factor` times as fast."""
        need_positive("arrivals' factor", factor)
        if factor == 1:
            return self
        arrival = tuple(at / factor for at in self.arrival_s)
        return replace(self, arrival_s=arrival, origin=f"{self.origin}, {factor:g} times as fast")

    @cached_property
    def columns(self) -> Columns:
        """The same as arrays, made once."""
        prompt = np.array(self.prompt, np.int64)
        return Columns(
            np.array(self.arrival_s), prompt, np.array(self.output, np.int64), prompt - np.array(self.cached)
        )

    def uncached(self) -> list[int]:
        """Prompt tokens to compute, per request."""
        return [p - c for p, c in zip(self.prompt, self.cached, strict=True)]


def from_rows(rows: Sequence[tuple[float, int, int, int]], label: Label, origin: str) -> Workload:
    """A workload from rows of (arrival_s, prompt, output, cached)."""
    if not rows:
        raise BadPlan(f"workload {origin} has no requests")
    arrival, prompt, output, cached = zip(*rows, strict=True)
    return Workload(arrival, prompt, output, cached, label, origin)


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A seeded Poisson workload with log-normal lengths.

    Per request the gap, the prompt and the output are drawn, in that order, from `random.Random(seed)`;
    arrivals go on until one passes `until_s`. Lengths are medians in tokens, sigmas of the logarithm.
    """

    rate_per_s: float
    seed: int = 7
    until_s: float = 240.0
    prompt_median: float = 2000.0
    prompt_sigma: float = 0.8
    prompt_max: int = 16_000
    output_median: float = 200.0
    output_sigma: float = 0.7
    output_min: int = 2
    output_max: int = 1500

    def __post_init__(self) -> None:
        for name in ("rate_per_s", "until_s", "prompt_median", "output_median"):
            need_positive(name, getattr(self, name))
        for name in ("prompt_sigma", "output_sigma"):
            if not 0 <= getattr(self, name) <= 5:
                raise BadPlan(f"{name} is {getattr(self, name)}; it must be 0 to 5")
        for name in ("prompt_median", "output_median", "rate_per_s"):
            if getattr(self, name) > 1e6:
                raise BadPlan(f"{name} is {getattr(self, name)}; it must be at most 1e6")
        if (
            not 1 <= self.prompt_max <= MAX_TOKENS
            or not 1 <= self.output_min <= self.output_max <= MAX_TOKENS
        ):
            raise BadPlan(
                f"prompt_max must be at least 1, and 1 <= output_min <= output_max; at most {MAX_TOKENS:,}"
            )
        if self.rate_per_s * self.until_s > MAX_REQUESTS:
            raise BadPlan(
                f"{self.rate_per_s} requests/s for {self.until_s} s is more than the limit of {MAX_REQUESTS} "
                "requests: shorten until_s"
            )

    @property
    def origin(self) -> str:
        """One line that is enough to draw the same workload again."""
        return f"synthetic, Poisson {self.rate_per_s:g}/s for {self.until_s:g} s, seed {self.seed}"

    def draw(self) -> Workload:
        """The workload; the same on every machine, as `random.Random` is."""
        rng = random.Random(self.seed)
        prompt_mu, output_mu = math.log(self.prompt_median), math.log(self.output_median)
        at = 0.0
        rows: list[tuple[float, int, int, int]] = []
        while (at := at + rng.expovariate(self.rate_per_s)) <= self.until_s:
            prompt = max(1, min(self.prompt_max, int(rng.lognormvariate(prompt_mu, self.prompt_sigma))))
            output = int(rng.lognormvariate(output_mu, self.output_sigma))
            rows.append((at, prompt, max(self.output_min, min(self.output_max, output)), 0))
        return from_rows(rows, Label.SUPPLIED, self.origin)
