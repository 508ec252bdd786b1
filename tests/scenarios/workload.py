"""What clients ask for: every random draw of a scenario, made before anything is simulated.

Each request carries its own uniforms, so a fault that is switched off leaves all other draws where they
were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .spec import Spec, ns


class Draws(NamedTuple):
    """Uniforms in [0, 1) of one request, one for each decision about it."""

    prefill_route: float
    decode_route: float
    long: float
    cancel: float
    patience: float
    follow_up: float
    orphan: float
    reserved: float
    transfer_failure: float
    attempt_failure: float
    stall: float
    stall_length: float
    prefill_noise: float
    transfer_noise: float
    tenant: float


@dataclass(frozen=True)
class Ask:
    """One request as a client sends it. `cached` tokens are in prefill's prefix cache, `held` on decode."""

    index: int
    arrival: int  # ns from the start of the window
    prompt: int
    output: int
    cached: int
    held: int
    leaves_after: int | None  # ns of patience of a client that does not wait for the first token
    draws: Draws


def asks(spec: Spec) -> list[Ask]:
    """The requests of a scenario in order of arrival."""
    load, n = spec.workload, spec.workload.requests
    of_gaps, of_prompts, of_outputs, of_rest = (np.random.default_rng([spec.seed, i]) for i in range(4))
    shape = 1.0 / load.burst_cv**2
    gaps = of_gaps.gamma(shape, 1.0 / shape, n) / load.rate
    prompts = _lengths(of_prompts.standard_normal(n), load.prompt_median, load.prompt_sigma, 16)
    outputs = _lengths(of_outputs.standard_normal(n), load.output_median, load.output_sigma, 6)
    uniforms = of_rest.random((n, len(Draws._fields)))
    arrivals = np.cumsum(gaps)
    return [
        _ask(spec, i, ns(float(arrivals[i])), int(prompts[i]), int(outputs[i]), Draws(*uniforms[i].tolist()))
        for i in range(n)
    ]


def _lengths(normal: np.ndarray, median: float, sigma: float, least: int) -> np.ndarray:
    clipped = np.clip(np.exp(sigma * normal), 0.35, 2.6)
    return np.maximum(least, np.rint(median * clipped))


def _ask(spec: Spec, i: int, arrival: int, prompt: int, output: int, draws: Draws) -> Ask:
    load = spec.workload
    leaves = draws.cancel < load.cancel_share
    if draws.long < load.long_share:
        prompt = round(prompt * load.long_factor)
    if leaves:
        prompt = round(prompt * load.cancel_long_factor)
    held = 0
    if (
        draws.follow_up < load.follow_up_share
    ):  # as much that is new as in a first turn, on top of the history
        prompt = round(prompt / (1.0 - load.held_fraction))
        held = round(prompt * load.held_fraction)
    cached = max(held, round(prompt * load.cached_fraction))
    patience = ns(load.cancel_after_s * (0.5 + draws.patience)) if leaves else None
    return Ask(i, arrival, prompt, output, min(cached, prompt - 1), held, patience, draws)
