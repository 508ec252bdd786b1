"""What a planning receipt promises of the candidate, beside what was measured of it."""

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from analyzer.compare.bootstrap import Interval
from analyzer.gate.cohort import Cohort
from analyzer.gate.estimate import Estimate, percentiles
from analyzer.gate.slices import estimates
from analyzer.plan.receipt_model import Receipt, Scenario, WorkloadPart
from analyzer.verdict.tables import Floats

LESS_LOAD = 0.9
"""Measured at less than this share of the planned load, figures say little about the plan."""
SAME_SIZE = 0.01
"""Relative difference of KV bytes per token from which on it is another KV than planned."""


class Kept(StrEnum):
    """Whether a promise was kept."""

    KEPT = "kept"
    BROKEN = "broken"
    """The whole interval lies on the wrong side of the limit."""
    UNDECIDED = "undecided"
    NOT_SHOWN = "not_shown"
    """Nobody measured it, and no objective is about it: it holds nothing up."""


@dataclass(frozen=True)
class Promise:
    """One line of a receipt: `promised` is modelled, `measured` observed; it is held to `limit`."""

    name: str
    unit: str
    promised: float | None
    measured: Interval
    limit: float | None
    kept: Kept
    why: str
    prompts: str = ""
    """Of prompts of this length only, an input bucket; empty: of all requests."""

    @property
    def title(self) -> str:
        """The line in words."""
        return f"{self.name}, prompts {self.prompts}" if self.prompts else self.name


def choose_scenario(receipt: Receipt, candidate: Cohort) -> tuple[Scenario | None, str]:
    """The scenario of the layout that ran, under the workload nearest in rate; else None and why."""
    layout = candidate.layout
    if layout is None:
        return None, "which workers served the candidate is not known"
    fitting = [s for s in receipt.scenarios if s.layout.name == layout or _colocated(s, layout)]
    if not fitting:
        tried = ", ".join(sorted({s.layout.name for s in receipt.scenarios}))
        return None, f"the candidate ran as {layout}, of which the receipt says nothing (it has {tried})"
    rate = candidate.requests_per_s or 0.0
    chosen = min(fitting, key=lambda s: abs(workload_of(receipt, s).requests_per_s - rate))
    return chosen, ""


def _colocated(scenario: Scenario, layout: str) -> bool:
    return scenario.layout.kind == "colocated" and scenario.layout.name.startswith(layout)


def workload_of(receipt: Receipt, scenario: Scenario) -> WorkloadPart:
    """The workload a scenario was simulated under."""
    return next(part for part in receipt.workloads if part.name == scenario.workload)


def promises(receipt: Receipt, scenario: Scenario, candidate: Cohort, tolerance: float) -> list[Promise]:
    """Every line that can be measured; `tolerance`: by how much a latency may exceed what was promised."""
    rows = np.flatnonzero(candidate.evaluated)
    found = estimates(candidate, rows, seed=1)
    result = scenario.result
    share = result.met_count / result.measured if result.measured else None
    out = [_at_least("attainment", share, found["attainment"], receipt.contract.attainment)]
    for name, promised in (
        ("ttft_p50", result.ttft50_s), ("ttft_p95", result.ttft95_s),
        ("tpot_p50", result.tpot50_s), ("tpot_p95", result.tpot95_s),
    ):  # fmt: skip
        out.append(at_most(name, "s", promised, found[name], tolerance))
    out.append(_gaps(result.itl99_s, found["itl_p99"], tolerance))
    out += _hand_off(receipt, candidate, tolerance)
    out += [_accelerators(scenario, candidate), *_load(workload_of(receipt, scenario), candidate)]
    return [*out, *_by_prompt(receipt, scenario, candidate, tolerance)]


def _by_prompt(receipt: Receipt, scenario: Scenario, candidate: Cohort, tolerance: float) -> list[Promise]:
    """What was promised of each prompt length; what too few requests show holds nothing up."""
    members = candidate.members("input_bucket")
    out: list[Promise] = []
    for part in scenario.result.by_prompt:
        found = estimates(candidate, members.get(part.prompts, np.zeros(0, np.intp)), seed=1)
        share = part.met_count / part.measured
        lines = [_at_least("attainment", share, found["attainment"], min(share, receipt.contract.attainment))]
        for name, promised in (
            ("ttft_p50", part.ttft50_s), ("ttft_p95", part.ttft95_s),
            ("tpot_p50", part.tpot50_s), ("tpot_p95", part.tpot95_s),
        ):  # fmt: skip
            lines.append(at_most(name, "s", promised, found[name], tolerance))
        out += [replace(line, prompts=part.prompts, kept=_of_part(line.kept)) for line in lines]
    return out


def _of_part(kept: Kept) -> Kept:
    return Kept.NOT_SHOWN if kept is Kept.UNDECIDED else kept


def _gaps(promised: float | None, found: Estimate, tolerance: float) -> Promise:
    """The modelled p99 of all steps beside each request's own p99 gap, the median of them.

    Who sees the client's chunks reports gaps (the tap, PhaseTracer); engines' own spans do not.
    """
    line = at_most("itl_p99", "s", promised, found, tolerance)
    if found.interval.value is not None or promised is None:
        return line
    return replace(line, kept=Kept.NOT_SHOWN, why=f"gaps between tokens: {found.reason}")


def transfer_budget(candidate: Cohort, budget_s: float) -> Promise:
    """p95 of the hand-offs' transfer time against a budget that was asked for."""
    at, took = _moved(candidate, candidate.situation.transfers.seconds)
    (p95,) = percentiles(at, took, (0.95,), seed=2)
    return at_most("transfer_p95", "s", budget_s, p95, 0.0)


def at_most(name: str, unit: str, promised: float | None, found: Estimate, tolerance: float) -> Promise:
    """Hold a measured figure to a promised one, and `tolerance` more."""
    measured = found.interval
    if promised is None or measured.low is None or measured.high is None:
        why = found.reason or ("not measured" if promised is not None else "the receipt promises no figure")
        return Promise(name, unit, promised, measured, None, Kept.UNDECIDED, why)
    limit = promised * (1 + tolerance)
    if measured.low > limit:
        return Promise(name, unit, promised, measured, limit, Kept.BROKEN, "all of the interval is above")
    if measured.high <= limit:
        return Promise(name, unit, promised, measured, limit, Kept.KEPT, "all of the interval is below")
    return Promise(name, unit, promised, measured, limit, Kept.UNDECIDED, "the interval holds the limit")


def _at_least(name: str, promised: float | None, found: Estimate, limit: float) -> Promise:
    measured, kept, why = found.interval, Kept.UNDECIDED, found.reason or "the interval holds the limit"
    if measured.low is not None and measured.low >= limit:
        kept, why = Kept.KEPT, "all of the interval meets the contract"
    elif measured.high is not None and measured.high < limit:
        kept, why = Kept.BROKEN, "all of the interval is below the contract"
    return Promise(name, "fraction", promised, measured, limit, kept, why)


def _moved(candidate: Cohort, values: Floats) -> tuple[Floats, Floats]:
    """(when asked for, value) of the hand-offs whose value is known."""
    rows = candidate.hand_offs
    at, chosen = candidate.situation.transfers.asked[rows], values[rows]
    known = np.isfinite(at) & np.isfinite(chosen)
    return at[known], chosen[known]


def _hand_off(receipt: Receipt, candidate: Cohort, tolerance: float) -> list[Promise]:
    """Bytes per token, bandwidth, and each hand-off's time over what the receipt gives one of its size."""
    t, kv = candidate.situation.transfers, receipt.kv
    size = np.where(t.tokens > 0, t.bytes / np.where(t.tokens > 0, t.tokens, 1.0), np.nan)
    at, per_token = _moved(candidate, size)
    (bytes_p50,) = percentiles(at, per_token, (0.5,), seed=3)
    budget = kv.transfer_overhead_s + t.bytes / kv.effective_bytes_per_s
    at, over = _moved(candidate, t.seconds / np.where(budget > 0, budget, np.nan))
    (over_p50,) = percentiles(at, over, (0.5,), seed=4)
    at, rate = _moved(candidate, t.bytes / t.seconds)
    (rate_p50,) = percentiles(at, rate, (0.5,), seed=5)
    return [
        _same("kv_bytes_per_token", "B/token", kv.bytes_per_token, bytes_p50),
        at_most("transfer_time_over_budget_p50", "ratio", 1.0, over_p50, tolerance),
        _no_less("effective_bandwidth_p50", "B/s", kv.effective_bytes_per_s, rate_p50, tolerance),
    ]


def _same(name: str, unit: str, promised: float, found: Estimate) -> Promise:
    value = found.interval.value
    if value is None:
        return Promise(
            name, unit, promised, found.interval, None, Kept.UNDECIDED, found.reason or "not measured"
        )
    alike = abs(value - promised) <= SAME_SIZE * promised
    why = "as planned" if alike else "another KV format, dtype or model than planned"
    return Promise(name, unit, promised, found.interval, promised, Kept.KEPT if alike else Kept.BROKEN, why)


def _no_less(name: str, unit: str, promised: float, found: Estimate, tolerance: float) -> Promise:
    measured, limit = found.interval, promised * (1 - tolerance)
    kept, why = Kept.UNDECIDED, found.reason or "the interval holds the limit"
    if measured.low is not None and measured.low >= limit:
        kept, why = Kept.KEPT, "all of the interval is above"
    elif measured.high is not None and measured.high < limit:
        kept, why = Kept.BROKEN, "all of the interval is below"
    return Promise(name, unit, promised, measured, limit, kept, why)


def _accelerators(scenario: Scenario, candidate: Cohort) -> Promise:
    promised = float(scenario.layout.accelerators)
    measured = Interval(candidate.gpus, candidate.gpus, candidate.gpus)
    if candidate.gpus is None:
        why = "workers do not say pd.gpus"
        return Promise("accelerators", "accelerators", promised, measured, promised, Kept.UNDECIDED, why)
    kept = Kept.KEPT if candidate.gpus <= promised else Kept.BROKEN
    why = "no more than planned" if kept is Kept.KEPT else "more accelerators than planned were used"
    return Promise("accelerators", "accelerators", promised, measured, promised, kept, why)


def _load(workload: WorkloadPart, candidate: Cohort) -> list[Promise]:
    """The load it was measured under: less than planned leaves the plan untested."""
    s, rate = candidate.situation, candidate.requests_per_s
    r = s.requests
    rows = np.flatnonzero(r.inside)
    seconds = None if rate is None else (len(rows) - 1) / rate
    uncached = np.nansum(r.input_tokens[rows] - np.nan_to_num(r.cached_tokens[rows]))
    output = np.nansum(r.output_tokens[rows])
    lines = (
        ("requests_per_s", workload.requests_per_s, rate),
        (
            "uncached_tokens_per_s",
            workload.uncached_tokens_per_s,
            float(uncached) / seconds if seconds else None,
        ),
        ("output_tokens_per_s", workload.output_tokens_per_s, float(output) / seconds if seconds else None),
    )
    out = []
    for name, promised, found in lines:
        limit = LESS_LOAD * promised
        enough = found is not None and found >= limit
        why = "measured under the planned load" if enough else "measured under less load than planned"
        kept = Kept.KEPT if enough else Kept.UNDECIDED
        out.append(Promise(name, "1/s", promised, Interval(found, found, found), limit, kept, why))
    return out
