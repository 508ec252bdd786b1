"""Findings about the traffic itself and how it ended."""

import numpy as np

from analyzer.verdict.attribution import Attribution
from analyzer.verdict.findings.finding import Finding
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Account, Outcome

STORM_SHARE = 0.1
JUMP = 10.0
DRIFT = 1.5
ENOUGH = 40


def success_status_masks_failure(s: Situation, _: Attribution) -> Finding | None:
    """A success status over no token or an error."""
    masked = s.requests.inside & s.requests.masked
    if not masked.any():
        return None
    detail = f"{int(masked.sum())} requests were called a success and carry no token or an error"
    return Finding("success_status_masks_failure", "critical", detail, int(masked.sum()))


def abort_storm(s: Situation, _: Attribution) -> Finding | None:
    """Cancellations came at ten times the rate of the quieter half of the window, and are a tenth of all."""
    r = s.requests
    gone = r.inside & (r.outcome == Outcome.CANCELLED)
    if gone.sum() < 10 or gone.sum() < STORM_SHARE * r.inside.sum():
        return None
    at = r.start[r.inside]
    edges = np.linspace(at.min(), at.max() + 1e-6, 21)
    per_bin, _edges = np.histogram(r.start[gone], edges)
    quiet, loud = float(np.quantile(per_bin, 0.1)), float(np.quantile(per_bin, 0.95))
    if loud < JUMP * max(quiet, loud / (2 * JUMP)):
        return None
    share = gone.sum() / r.inside.sum()
    detail = f"clients left {share:.0%} of the requests, most of them in bursts"
    return Finding("abort_storm", "warning", detail, int(gone.sum()))


def baseline_drift(s: Situation, _: Attribution) -> Finding | None:
    """Healthy prompts of one size cost more (or less) in the second half of the window than in the first."""
    r = s.requests
    ratio = r.duration("prefill_compute") / s.compute.expected
    good = r.inside & (r.account == Account.MET) & np.isfinite(ratio) & (ratio > 0)
    if good.sum() < 2 * ENOUGH:
        return None
    order = np.flatnonzero(good)[np.argsort(r.start[good])]
    first, second = np.array_split(ratio[order], 2)
    change = float(np.median(second) / np.median(first))
    if 1 / DRIFT < change < DRIFT:
        return None
    return Finding(
        "baseline_drift", "info", f"the healthy cost of a prompt changed by a factor of {change:.2f}"
    )
