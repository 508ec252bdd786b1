"""Whether disaggregation was needed, and planned for the traffic that came."""

import numpy as np

from analyzer.gate.check import Check, Fact, not_shown, shown
from analyzer.gate.cohort import Cohort
from analyzer.gate.estimate import LEAST
from analyzer.gate.evidence import Evidence
from analyzer.gate.promises import workload_of
from analyzer.plan.benchmark import Benchmark
from analyzer.verdict.vocabulary import Cause

INTERFERENCE = (Cause.PREFILL_IN_STEP, Cause.DECODE_RECOMPUTE)
MOSTLY = 0.5
MISSES = 5
"""Misses of the baseline that make a problem."""
MIXED = 0.02
"""Share of a prompt bucket from which on it is part of the mix."""


def interference(e: Evidence) -> Check:
    """Prompts in the steps of running streams are what the baseline misses for."""
    title = "Interference of prefill with decode is proven to be the baseline's problem"
    found = e.baseline.found
    if found.counts.missed < MISSES:
        counts = f"{found.counts.missed} of {found.counts.evaluated} baseline requests missed"
        return not_shown("interference", title, f"{counts}: that shows no problem to be solved")
    share = sum(answer.share for answer in found.causes if answer.cause in INTERFERENCE)
    named = sum(answer.share for answer in found.causes if answer.cause is not Cause.INSUFFICIENT_EVIDENCE)
    facts: dict[str, Fact] = {"missed": found.counts.missed, "share": round(share, 4)}
    facts["dominant_cause"] = str(found.dominant)
    if share < MOSTLY and named < MOSTLY:
        return not_shown("interference", title, "what most baseline misses are for is not known", facts)
    answer = f"{share:.0%} of {found.counts.missed} baseline misses are for prompts in running streams' steps"
    if share < MOSTLY:
        answer += f"; most are for {found.dominant}"
    return shown("interference", title, share >= MOSTLY, answer, facts)


def chunked_prefill_tried(e: Evidence) -> Check:
    """A colocated cohort with another chunk budget was measured."""
    return _tried(e, "chunked-prefill", "A chunked-prefill baseline was tried")


def routing_tried(e: Evidence) -> Check:
    """A cohort with another routing was measured."""
    return _tried(e, "routing", "A routing baseline was tried")


def _tried(e: Evidence, kind: str, title: str) -> Check:
    line = f"{kind}_tried".replace("-", "_")
    cohorts = e.tried.get(kind, ())
    measured = [cohort for cohort in cohorts if cohort.found.counts.evaluated >= LEAST]
    if not measured:
        why = "no cohort was named for it" if not cohorts else f"fewer than {LEAST} requests in "
        why += ", ".join(cohort.name for cohort in cohorts)
        modelled = kind == "chunked-prefill" and e.receipt is not None and len(_chunks(e)) > 1
        if modelled:
            why += f"; {e.receipt_name} only models chunk budgets {', '.join(map(str, _chunks(e)))}"
        return not_shown(line, title, why)
    told = {cohort.name: _share(cohort) for cohort in measured}
    goal = _share(e.candidate)
    best = max(told.values())
    answer = ", ".join(f"{name} met {share:.1%}" for name, share in told.items())
    answer += f"; the candidate met {goal:.1%}"
    facts: dict[str, Fact] = {f"met_{name}": share for name, share in told.items()}
    return shown(line, title, best <= goal, answer, facts)


def _chunks(e: Evidence) -> list[int]:
    assert e.receipt is not None
    return sorted({s.layout.step_budget for s in e.receipt.scenarios if s.layout.kind == "colocated"})


def _share(cohort: Cohort) -> float:
    counts = cohort.found.counts
    return counts.met / counts.evaluated if counts.evaluated else 0.0


def pools_sized(e: Evidence) -> Check:
    """The receipt sizes this layout from tokens at mean, p95 and peak, for no less than what came."""
    title = "Pools are sized from tokens and bursts"
    if e.receipt is None or e.scenario is None:
        return not_shown("pools_sized", title, "no receipt was given for the layout that ran")
    moments = {queue.moment for queue in e.scenario.queues}
    workload = workload_of(e.receipt, e.scenario)
    r = e.candidate.situation.requests
    rate = e.candidate.requests_per_s
    tokens = float(np.nanmean(r.input_tokens[r.inside])) if r.inside.any() else float("nan")
    offered = (rate or 0.0) * tokens
    planned = workload.requests_per_s * workload.mean_prompt
    facts: dict[str, Fact] = {"planned_prompt_tokens_per_s": planned}
    if not np.isfinite(offered) or rate is None:
        return not_shown(
            "pools_sized", title, "how many prompt tokens came is not known", facts, e.receipt_name
        )
    facts["observed_prompt_tokens_per_s"] = offered
    ok = e.scenario.accepted and {"mean", "p95", "peak"} <= moments and offered <= 1.1 * planned
    answer = f"planned for {planned:,.0f} prompt tokens/s (modelled), {offered:,.0f} came; "
    answer += "queues at mean, p95 and peak" if ok else f"scenario {e.scenario.id} does not cover that"
    return shown("pools_sized", title, ok, answer, facts, e.receipt_name)


def mixed_stress(e: Evidence) -> Check:
    """Short and long prompts were served at the same time, both ways, in a complete benchmark."""
    title = "A mixed stress was run"
    runs = {name: item for name, item in e.benchmarks.items() if item.complete}
    mixed = {name: _mix(item) for name, item in runs.items()}
    mixed = {name: buckets for name, buckets in mixed.items() if len(buckets) > 1}
    if not mixed:
        why = "no benchmark receipt was given" if not e.benchmarks else "no complete one mixes prompt lengths"
        return not_shown("mixed_stress", title, why)
    name, buckets = next(iter(mixed.items()))
    return shown("mixed_stress", title, True, f"{name}: prompts of {', '.join(buckets)}", source=name)


def _mix(item: Benchmark) -> list[str]:
    """Prompt buckets that are more than a trifle of a benchmark's requests."""
    total = sum(bucket.requests for bucket in item.buckets)
    return [bucket.name for bucket in item.buckets if total and bucket.requests >= MIXED * total]


def ratio_sweep(e: Evidence) -> Check:
    """Several ratios of prefill to decode were measured, not only modelled."""
    title = "A sweep of prefill-to-decode ratios was run"
    layouts = {item.layout: name for name, item in e.benchmarks.items() if item.complete and item.layout}
    if len(layouts) > 1:
        answer = f"measured: {', '.join(sorted(layouts))}"
        return shown("ratio_sweep", title, True, answer, source=", ".join(layouts.values()))
    why = "fewer than two complete benchmark receipts name a layout"
    if e.receipt is not None:
        count = len({s.layout.name for s in e.receipt.scenarios if s.layout.kind == "disaggregated"})
        why += f"; {e.receipt_name} models {count} ratios, which is not a measurement"
    return not_shown("ratio_sweep", title, why)
