"""Check a topology receipt: parse it again, work its figures out again, and say what does not hold.

Nothing here uses the code that writes receipts: the arithmetic is repeated from the receipt's inputs, the
scenarios are simulated again step by step (plain_loop, plain_clock) and the verdicts are drawn again.
"""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from pydantic import ValidationError

from analyzer.plan.findings import Findings
from analyzer.plan.plain_loop import Row
from analyzer.plan.receipt_model import Receipt, Scenario, TraceSource
from analyzer.plan.verify_advice import check_advice
from analyzer.plan.verify_fit import check_fit
from analyzer.plan.verify_inputs import check_inputs
from analyzer.plan.verify_requests import carried
from analyzer.plan.verify_scenarios import check_scenarios

COLUMNS = (
    *("scenario", "layout", "accelerators", "workload", "measured", "met_count", "ttft50_s", "ttft95_s"),
    *("tpot50_s", "tpot95_s", "itl99_s", "accepted"),
)
"""The matrix's header: a column that is left out cannot be compared."""


def verify(
    text: str,
    matrix: str | None,
    traces: Mapping[str, list[Row]] | None = None,
    progress: Callable[[int, int], None] | None = None,
    requests: bytes | None = None,
) -> Findings:
    """Check a receipt and its CSV matrix.

    `traces` holds the rows of trace files by SHA-256 of their content, `requests` the content of the file of
    requests beside the receipt; scenarios on traffic not given are unchecked. `progress` is called with
    (done, of) after every scenario.
    """
    findings = Findings()
    raw = _parse(text, findings)
    if raw is None:
        return findings
    _digest(raw, findings)
    try:
        receipt = Receipt.model_validate_json(text)
    except ValidationError as error:
        findings.problems.extend(_named(error))
        return findings
    findings.checked.append("form and labels")
    _matrix(receipt, matrix, findings)
    constants = check_inputs(receipt, findings)
    if constants is None:
        return findings
    beside = carried(receipt, requests, findings)
    known = {**(traces or {}), **({beside.sha256: beside.rows} if beside else {})}
    check_scenarios(receipt, constants, known, findings, progress or (lambda done, of: None))
    check_fit(receipt, constants, beside, findings)
    for scenario in receipt.scenarios:
        _accepted(scenario, receipt, findings)
    _conclusions(receipt, findings)
    check_advice(receipt, constants, known, findings)
    return findings


def trace_files_named(text: str) -> list[str]:
    """Names of the trace files that a receipt was made from; none where it cannot be read."""
    try:
        receipt = Receipt.model_validate_json(text)
    except ValidationError:
        return []
    sources = [w.source for w in receipt.workloads if isinstance(w.source, TraceSource)]
    plain = [source.file for source in sources if PurePath(source.file).name == source.file]
    return list(dict.fromkeys(plain))


def _parse(text: str, findings: Findings) -> dict[str, Any] | None:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"field {sorted(twice)[0]} appears twice")
        return dict(pairs)

    try:
        raw = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        findings.problems.append(f"not readable as JSON: {error}")
        return None
    if not isinstance(raw, dict):
        findings.problems.append("the top level is not an object")
        return None
    return raw


def _digest(raw: dict[str, Any], findings: Findings) -> None:
    body = {name: value for name, value in raw.items() if name != "digest"}
    sealed = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if raw.get("digest") != _sha256(sealed):
        findings.problems.append("digest: the content is not what was sealed")
    else:
        findings.checked.append("digest")


def _sha256(text: str) -> str:
    """Half a surrogate, which is no character, has a digest too: it is refused for what it stands in."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _named(error: ValidationError) -> list[str]:
    """Pydantic's findings as one line each, labels explained."""
    out = []
    for item in error.errors():
        place = ".".join(str(part) for part in item["loc"])
        if place.endswith("label"):
            out.append(
                f"{place} is {item['input']!r}: a planned figure is modelled and may not be called else"
            )
        else:
            out.append(f"{place}: {item['msg']}")
    return out


def _matrix(receipt: Receipt, matrix: str | None, findings: Findings) -> None:
    if matrix is None:
        findings.unchecked.append("the CSV matrix was not given")
        return
    if _sha256(matrix) != receipt.matrix.sha256:
        findings.problems.append("matrix: the CSV is not the one the receipt names")
    table = csv.DictReader(io.StringIO(matrix))
    rows = list(table)
    if tuple(table.fieldnames or ()) != COLUMNS:
        found = ",".join(table.fieldnames or ()) or "nothing"
        findings.problems.append(f"matrix: the header is {found}; it must be {','.join(COLUMNS)}")
        return
    if not len(rows) == receipt.matrix.rows == len(receipt.scenarios):
        findings.problems.append(f"matrix: {len(rows)} rows for {len(receipt.scenarios)} scenarios")
        return
    for row, scenario in zip(rows, receipt.scenarios, strict=True):
        flat: dict[str, Any] = {
            **scenario.result.model_dump(),
            "scenario": scenario.id,
            "layout": scenario.layout.name,
            "accelerators": scenario.layout.accelerators,
            "workload": scenario.workload,
            "accepted": "true" if scenario.accepted else "false",
        }
        for name, cell in row.items():
            value = flat.get(name, "no such figure")
            if cell != ("" if value is None else str(value)):
                findings.problems.append(
                    f"matrix: {scenario.id} {name} is {cell!r}, the receipt says {value}"
                )
    findings.checked.append("matrix")


def _accepted(scenario: Scenario, receipt: Receipt, findings: Findings) -> None:
    """The verdict on a scenario follows from its queues and figures."""
    ceiling, result = receipt.contract.utilisation_ceiling, scenario.result
    over = [
        queue
        for queue in scenario.queues
        if queue.moment != "peak" and (queue.utilisation is None or queue.utilisation >= ceiling)
    ]
    met = result.met_count / result.measured if result.measured else 0.0
    if scenario.accepted and over:
        queue = over[0]
        findings.problems.append(
            f"{scenario.id}: accepted although its {queue.name} queue is at {queue.utilisation} at "
            f"{queue.moment} demand (ceiling {ceiling}): an overloaded pool was ignored"
        )
    if scenario.accepted and met < receipt.contract.attainment:
        findings.problems.append(
            f"{scenario.id}: accepted although only {met:.1%} of requests meet the objectives"
        )
    budget = receipt.transfer_budget
    split = scenario.layout.kind == "disaggregated" and budget is not None and budget.refused is not None
    if not scenario.accepted and not over and not split and met >= receipt.contract.attainment:
        findings.problems.append(f"{scenario.id}: refused although nothing speaks against it")
    if scenario.accepted == bool(scenario.reasons):
        findings.problems.append(
            f"{scenario.id}: accepted is {scenario.accepted} with {len(scenario.reasons)} reasons"
        )


def _conclusions(receipt: Receipt, findings: Findings) -> None:
    """The list of refusals and the headline follow from the scenarios."""
    ids = [scenario.id for scenario in receipt.scenarios]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        findings.problems.append(f"scenarios: {', '.join(twice)} appear more than once")
    refused = [(s.id, s.reasons) for s in receipt.scenarios if not s.accepted]
    if refused != [(item.scenario, item.reasons) for item in receipt.rejected]:
        findings.problems.append("rejected: the list does not match the scenarios that are not accepted")
    groups: dict[str, list[Scenario]] = {}
    for scenario in receipt.scenarios:
        groups.setdefault(scenario.layout.name, []).append(scenario)

    def met(scenario: Scenario) -> float:
        return scenario.result.met_count / max(scenario.result.measured, 1)

    def worst(scenario: Scenario) -> tuple[float, float]:
        return met(scenario), -(scenario.result.ttft95_s or 0.0)

    fit = [min(group, key=worst) for group in groups.values() if all(s.accepted for s in group)]
    fit.sort(key=lambda s: (s.layout.accelerators, s.layout.kind == "disaggregated", -met(s), s.layout.name))
    said = receipt.headline
    best = fit[0] if fit else None
    if said.layout != (best.layout.name if best else None) or said.scenario != (best.id if best else None):
        found = f"{best.layout.name} ({best.id})" if best else "no layout"
        findings.problems.append(
            f"headline: names {said.layout} ({said.scenario}); the scenarios give {found}"
        )
        return
    if best is None:
        return
    tried = {scenario.workload for scenario in groups[best.layout.name]}
    if left_out := [part.name for part in receipt.workloads if part.name not in tried]:
        findings.problems.append(
            f"headline: {best.layout.name} was not simulated under {', '.join(left_out)}: "
            "a workload that overloads it may have been left out"
        )
    shown = [q.utilisation or 0.0 for s in groups[best.layout.name] for q in s.queues if q.moment == "p95"]
    if said.statement != (
        f"{best.layout.name} on {best.layout.accelerators} accelerators is the smallest layout tried "
        "that meets the contract (modelled)."
    ):
        findings.problems.append(
            f"headline.statement says more or less than the scenarios: {said.statement!r}"
        )
    findings.same("headline.accelerators", said.accelerators, best.layout.accelerators)
    findings.same("headline.attainment", said.attainment, met(best))
    findings.same("headline.ttft95_s", said.ttft95_s, best.result.ttft95_s)
    findings.same("headline.tpot95_s", said.tpot95_s, best.result.tpot95_s)
    findings.same("headline.highest_utilisation", said.highest_utilisation, max(shown, default=None))
    findings.checked.append("headline")
