"""The transfer budget, the recommendation and the degraded modes of a receipt, worked out again."""

import re
from collections.abc import Mapping
from math import isclose

from analyzer.plan import plain_loop
from analyzer.plan.findings import Findings
from analyzer.plan.plain_loop import Constants, Row
from analyzer.plan.receipt_model import (
    DegradedPart,
    LayoutPart,
    Receipt,
    RecommendationPart,
    TransferBudgetPart,
)
from analyzer.plan.verify_load import quantile
from analyzer.plan.verify_scenarios import trail_of, workload_rows

LINK = "the link lost"
LOST = {"a worker lost": "colocated", "a prefill worker lost": "prefill", "a decode worker lost": "decode"}
"""The pool that loses its first worker, by what a receipt calls it."""


def check_advice(receipt: Receipt, c: Constants, traces: Mapping[str, list[Row]], findings: Findings) -> None:
    """Whatever a what-if added to the receipt; nothing when it added nothing."""
    rows = workload_rows(receipt.workloads[0], traces)
    if receipt.transfer_budget is not None:
        _budget(receipt.transfer_budget, receipt, rows, c, findings)
    if receipt.recommendation is not None:
        _recommendation(receipt.recommendation, receipt, findings)
    for item in receipt.degraded:
        _degraded(item, receipt, rows, c, findings)


def _budget(
    said: TransferBudgetPart, receipt: Receipt, rows: list[Row] | str, c: Constants, findings: Findings
) -> None:
    kv, place = receipt.kv, "transfer_budget"
    if isinstance(rows, str):
        findings.unchecked.append(f"{place}: {rows}")
    else:
        prompt = int(quantile(sorted(float(row[1]) for row in rows), 0.95))
        uncached = quantile(sorted(float(row[1] - row[3]) for row in rows), 0.95)
        findings.same(f"{place}: prompt_tokens", said.prompt_tokens, prompt)
        prefill = max(c.weights_s, c.compute_s * uncached) + c.overhead_s
        findings.same(f"{place}: prefill_s", said.prefill_s, prefill)
    if said.bytes_per_s > kv.effective_bytes_per_s * (1 + 1e-9):
        findings.problems.append(
            f"{place}: {said.bytes_per_s:g} B/s is faster than the effective "
            f"{kv.effective_bytes_per_s:g} B/s: the estimate is not conservative"
        )
    seconds = kv.transfer_overhead_s + said.prompt_tokens * kv.bytes_per_token / said.bytes_per_s
    findings.same(f"{place}: transfer_s", said.transfer_s, seconds)
    findings.same(f"{place}: envelope_s", said.envelope_s, receipt.contract.ttft_s - said.prefill_s)
    left = 1 - said.transfer_s / said.envelope_s if said.envelope_s > 0 else -1.0
    findings.same(f"{place}: left", said.left, left)
    refused = left < said.reserve
    if refused != (said.refused is not None):
        findings.problems.append(
            f"{place}: leaves {left:.0%} with a reserve of {said.reserve:.0%}, so two pools are "
            f"{'refused' if refused else 'not refused'}; the receipt says otherwise"
        )
    for scenario in receipt.scenarios:
        if refused and scenario.accepted and scenario.layout.kind == "disaggregated":
            findings.problems.append(
                f"{scenario.id}: accepted although the transfer budget refuses two pools"
            )
    findings.checked.append("transfer budget")


def _pools(layout: str | None) -> dict[str, int]:
    if layout is None:
        return {}
    if match := re.fullmatch(r"(\d+)P\+(\d+)D", layout):
        return {"prefill": int(match[1]), "decode": int(match[2])}
    return {"colocated": int(layout.split("x")[0])}


def _recommendation(said: RecommendationPart, receipt: Receipt, findings: Findings) -> None:
    place = "recommendation"
    if said.layout != receipt.headline.layout:
        findings.problems.append(
            f"{place}: names {said.layout}; the smallest layout accepted is {receipt.headline.layout}"
        )
    tried = max(workload.arrivals for workload in receipt.workloads) - 1
    if not isclose(said.headroom, tried, abs_tol=1e-9):
        findings.problems.append(f"{place}: headroom {said.headroom:g} is promised, {tried:g} was simulated")
    if "modelled" not in said.statement or (said.layout or "No layout") not in said.statement:
        findings.problems.append(f"{place}: the statement does not name the layout as modelled")
    now, then = _pools(said.served), _pools(said.layout)
    expected = {pool: (now.get(pool), then.get(pool, 0)) for pool in {**now, **then}} if then else {}
    if {lane.pool: (lane.now, lane.then) for lane in said.lanes} != expected:
        findings.problems.append(f"{place}: lanes do not lead from {said.served} to {said.layout}")
    for lane in said.lanes:
        change = (
            "opens" if lane.now is None else "closes" if not lane.then
            else "stays" if lane.now == lane.then else "grows" if lane.then > lane.now else "shrinks"
        )  # fmt: skip
        if lane.change != change:
            findings.problems.append(f"{place}: {lane.pool} {lane.change}; from {lane.now} to {lane.then}")
    findings.checked.append("recommendation")


def _degraded(
    said: DegradedPart, receipt: Receipt, rows: list[Row] | str, c: Constants, findings: Findings
) -> None:
    """A worker lost on the way, or all that is left serving colocated: simulated again."""
    place = f"degraded {said.layout}, {said.mode}"
    intact = next((s.layout for s in receipt.scenarios if s.layout.name == said.layout), None)
    pool = LOST.get(said.mode)
    if intact is None or (pool is None and said.mode != LINK):
        findings.problems.append(f"{place}: no such layout was tried, or nothing is lost by that name")
        return
    workers = {"colocated": intact.workers, "prefill": intact.prefill, "decode": intact.decode}
    if pool is not None and (workers[pool] or 0) > 1:
        serves, lost = intact, (pool, receipt.contract.window_start_s)
        right = said.serves == intact.name
    else:
        left = intact.workers - (pool is not None)
        match = re.fullmatch(rf"{left}x([1-9]\d{{0,7}})", said.serves)
        right, lost = match is not None and left > 0, None
        serves = LayoutPart(
            kind="colocated", name=said.serves, workers=max(left, 1), prefill=None, decode=None,
            step_budget=int(match[1]) if match else 1, accelerators=1,
        )  # fmt: skip
    if not right:
        findings.problems.append(f"{place}: {said.serves} is not what is left of it")
    elif isinstance(rows, str):
        findings.unchecked.append(f"{place}: {rows}")
    else:
        trail = trail_of(serves, rows, receipt.settings, c, lost)
        window = (receipt.contract.window_start_s, receipt.contract.window_end_s)
        found = plain_loop.figures(trail, rows, window, receipt.contract.ttft_s, receipt.contract.tpot_s)
        for name in ("measured", "met_count"):
            findings.same(f"{place}: {name}", getattr(said, name), found[name])
