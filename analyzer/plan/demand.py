"""What a workload asks of the pools: token rates at the mean, at the 95th percentile and in bursts."""

from dataclasses import dataclass

import numpy as np

from analyzer.plan.errors import BadPlan, need_positive
from analyzer.plan.workload import Workload

MIN_WINDOWS = 20
MAX_WINDOWS = 1_000_000
"""Four months of windows of 10 s."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Offered load over one kind of moment; rates per second, lengths are means per request.

    `moment` is mean, p95 or peak. p95 and peak are over windows of equal length and each rate has its own.
    """

    moment: str
    requests_per_s: float
    uncached_tokens_per_s: float
    output_tokens_per_s: float
    mean_prompt: float
    mean_output: float


def demands(workload: Workload, window_s: float = 10.0) -> list[Demand]:
    """Mean, p95 and peak demand over whole windows of `window_s` seconds.

    BadPlan when the workload is too short for MIN_WINDOWS windows: a p95 of fewer is the peak.
    """
    need_positive("window_s", window_s)
    windows = int(workload.span_s // window_s)
    if windows < MIN_WINDOWS:
        raise BadPlan(
            f"workload {workload.origin} spans {workload.span_s:.0f} s, {windows} windows of {window_s:g} s; "
            f"at least {MIN_WINDOWS} are needed for a p95: take a longer workload or shorter windows"
        )
    if windows > MAX_WINDOWS:
        raise BadPlan(
            f"workload {workload.origin} spans {workload.span_s:.4g} s; at most {MAX_WINDOWS * window_s:g} s "
            "can be planned on: take a shorter one"
        )
    at = np.array(workload.arrival_s)
    inside = at < windows * window_s
    slot = (at[inside] // window_s).astype(np.int64)
    columns = [np.ones(len(workload)), np.array(workload.uncached()), np.array(workload.output)]
    rates = [np.bincount(slot, column[inside], windows) / window_s for column in columns]
    prompt, output = float(np.mean(workload.prompt)), float(np.mean(workload.output))
    moments = {
        "mean": [float(np.mean(rate)) for rate in rates],
        "p95": [float(np.quantile(rate, 0.95)) for rate in rates],
        "peak": [float(np.max(rate)) for rate in rates],
    }
    return [
        Demand(moment, requests, uncached, out, prompt, output)
        for moment, (requests, uncached, out) in moments.items()
    ]
