"""The gate's word: pass, refuse, or that the data cannot say; and every reason for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import NormalDist

from analyzer.gate.check import Check, Status
from analyzer.gate.checklist import checklist
from analyzer.gate.cohort import Cohort
from analyzer.gate.estimate import LEAST
from analyzer.gate.evidence import Evidence
from analyzer.gate.promises import Kept, Promise, choose_scenario, promises, transfer_budget
from analyzer.gate.slices import Slice, slices
from analyzer.plan.benchmark import Benchmark
from analyzer.plan.findings import Findings
from analyzer.plan.receipt_model import Receipt, Scenario

TOLERANCE = 0.1
"""By how much a measured latency may exceed what a plan promised."""


class Word(StrEnum):
    """What may be done."""

    PASS = "pass"
    REFUSE = "refuse"
    CANNOT_SAY = "cannot_say"


@dataclass(frozen=True)
class PlanReceipt:
    """A planning receipt, its name, and what verifying it found."""

    name: str
    receipt: Receipt | None
    findings: Findings


@dataclass(frozen=True)
class Terms:
    """What the gate is asked to hold the candidate to."""

    tolerance: float = TOLERANCE
    transfer_budget_s: float | None = None
    waived: Sequence[str] = ()
    """Checklist lines that need not be shown."""


@dataclass(frozen=True)
class GateAnswer:
    """The whole answer."""

    word: Word
    refused: list[str]
    unsaid: list[str]
    baseline: Cohort
    candidate: Cohort
    slices: list[Slice]
    scenario: Scenario | None
    promises: list[Promise]
    checks: list[Check]
    terms: Terms
    plan: PlanReceipt | None


def gate(
    baseline: Cohort,
    candidate: Cohort,
    terms: Terms,
    plan: PlanReceipt | None = None,
    tried: Mapping[str, Sequence[Cohort]] | None = None,
    benchmarks: Mapping[str, Benchmark] | None = None,
) -> GateAnswer:
    """Judge a candidate."""
    refused: list[str] = []
    unsaid = _too_few(baseline, candidate)
    found = slices(baseline, candidate)
    receipt = plan.receipt if plan else None
    scenario: Scenario | None = None
    lines: list[Promise] = []
    if plan:
        refused += [
            f"{plan.name}: the receipt is rejected: {problem}" for problem in plan.findings.problems[:5]
        ]
    if receipt is not None and plan is not None and not plan.findings.problems:
        scenario, why = choose_scenario(receipt, candidate)
        if scenario is None:
            unsaid.append(f"{plan.name}: {why}")
        else:
            lines = promises(receipt, scenario, candidate, terms.tolerance)
    if terms.transfer_budget_s is not None:
        lines.append(transfer_budget(candidate, terms.transfer_budget_s))
    evidence = Evidence(
        baseline, candidate, found, tried or {}, receipt if scenario else None, plan.name if plan else "",
        scenario, benchmarks or {},
    )  # fmt: skip
    checks = [_waived(check, terms.waived) for check in checklist(evidence)]
    refused += _worse(found) + [_promise(line) for line in lines if line.kept is Kept.BROKEN]
    refused += [f"{check.title}: not so: {check.answer}" for check in checks if check.status is Status.FAILED]
    unsaid += [_promise(line) for line in lines if line.kept is Kept.UNDECIDED]
    unsaid += [f"{c.title}: not shown: {c.answer}" for c in checks if c.status is Status.NOT_SHOWN]
    word = Word.REFUSE if refused else Word.CANNOT_SAY if unsaid else Word.PASS
    return GateAnswer(word, refused, unsaid, baseline, candidate, found, scenario, lines, checks, terms, plan)


def _too_few(baseline: Cohort, candidate: Cohort) -> list[str]:
    return [
        f"{cohort.name} has {int(cohort.evaluated.sum())} evaluated requests; {LEAST} are needed"
        for cohort in (baseline, candidate)
        if cohort.evaluated.sum() < LEAST
    ]


def _worse(found: Sequence[Slice]) -> list[str]:
    """Slices in which fewer of the candidate's requests met their objectives, beyond chance.

    Of many slices one looks worse by chance, so that each has to be further apart the more there are
    (Bonferroni): all of them together refuse an equal candidate in 5 % of cases at most.
    """
    out = []
    compared = [(part, f) for part in found for f in part.figures if f.name == "attainment"]
    known = [(part, figure) for part, figure in compared if figure.errors_apart is not None]
    limit = NormalDist().inv_cdf(1 - 0.05 / max(1, len(known)))
    for part, figure in known:
        if (figure.errors_apart or 0.0) < -limit:
            ours, theirs = figure.baseline.value or 0.0, figure.candidate.value or 0.0
            out.append(f"{part.name}: {theirs:.1%} met their objectives, {ours:.1%} of the baseline's")
    return out


def _promise(line: Promise) -> str:
    def told(value: float | None) -> str:
        return "not measured" if value is None else f"{value:.4g}"

    between = (
        f" [{told(line.measured.low)}, {told(line.measured.high)}]" if line.measured.low is not None else ""
    )
    measured = f"measured {told(line.measured.value)}{between} {line.unit}"
    promised = "nothing" if line.promised is None else f"{line.promised:.4g} {line.unit}"
    return f"{line.title}: promised {promised} (modelled), {measured}: {line.why}"


def _waived(check: Check, waived: Sequence[str]) -> Check:
    if check.line in waived and check.status is Status.NOT_SHOWN:
        return replace(check, status=Status.WAIVED, answer=f"waived by who asked; {check.answer}")
    return check
