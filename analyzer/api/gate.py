"""`POST /gate`."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Body, Query

from analyzer.api.compare_models import EstimateModel
from analyzer.api.errors import BadParameter, Unprocessable
from analyzer.api.gate_models import (
    CheckModel,
    CohortModel,
    FigureModel,
    GateBody,
    GateModel,
    PlanModel,
    PromiseModel,
    SliceModel,
)
from analyzer.api.models import WindowModel
from analyzer.api.parameters import Asked, Provided
from analyzer.api.times import parse_instant, rfc3339
from analyzer.compare.bootstrap import CONFIDENCE, Interval
from analyzer.gate.checklist import LINES
from analyzer.gate.cohort import Cohort, read_cohort
from analyzer.gate.evidence import TRIED
from analyzer.gate.promises import Promise
from analyzer.gate.slices import Slice
from analyzer.gate.verdict import TOLERANCE, GateAnswer, PlanReceipt, Terms, gate
from analyzer.plan.benchmark import Benchmark, parse_benchmark
from analyzer.plan.errors import BadReceipt
from analyzer.plan.receipt_model import Receipt
from analyzer.plan.verify import verify
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.verdict.diagnosis import Diagnosis

router = APIRouter(tags=["planning"])

Name = Annotated[str, Query(min_length=1, max_length=512)]
Instant = Annotated[str | None, Query(description="The baseline's own window; default: the candidate's.")]


@router.post("/gate", summary="May the candidate cohort be rolled out in place of the baseline?")
def judge(
    asked: Asked,
    services: Provided,
    baseline: Name,
    candidate: Name,
    baseline_from: Instant = None,
    baseline_to: Instant = None,
    tolerance: Annotated[
        float, Query(ge=0, le=10, description="By how much a latency may exceed its promise.")
    ] = TOLERANCE,
    transfer_budget: Annotated[
        float | None, Query(gt=0, le=3600, description="Seconds that p95 of the hand-offs may take.")
    ] = None,
    tried: Annotated[
        Sequence[str], Query(description=f"KIND:COHORT that was measured too; kinds: {', '.join(TRIED)}.")
    ] = (),
    waive: Annotated[Sequence[str], Query(description="Checklist lines that need not be shown.")] = (),
    body: Annotated[GateBody | None, Body()] = None,
) -> GateModel:
    """Judge observed cohorts against each other, against a planning receipt, and by the rollout checklist.

    Nothing is assumed: what no data shows is `not_shown`, and a gate that is not shown everything it needs
    answers `cannot_say`.
    """
    _check(asked.scope, baseline, candidate, waive)
    given = body or GateBody()
    plan = _plan(given)
    objectives = _objectives(asked.objectives, plan)
    settled: list[bool] = []

    def ask(scope: Scope, objectives: Objectives) -> Diagnosis:
        answer = services.desk.ask(scope, objectives)
        settled.append(answer.settled)
        return answer.diagnosis

    def read(name: str, scope: Scope) -> Cohort:
        return read_cohort(services.store, ask, scope, objectives, name)

    theirs = read(candidate, asked.scope)
    ours = read(baseline, _window(asked.scope, baseline_from, baseline_to))
    others = {kind: [read(name, asked.scope) for name in names] for kind, names in _tried(tried).items()}
    terms = Terms(tolerance, transfer_budget, tuple(waive))
    answer = gate(ours, theirs, terms, plan, others, _benchmarks(given))
    return _answer(answer, objectives, all(settled))


def _check(scope: Scope, baseline: str, candidate: str, waive: Sequence[str]) -> None:
    for field, name in (("baseline", baseline), ("candidate", candidate)):
        if "\0" in name:
            raise BadParameter(f"{field}: must not contain NUL", field)
    if scope.cohort:
        raise BadParameter("cohort: the gate reads two; name them as baseline and candidate", "cohort")
    if baseline == candidate:
        raise BadParameter(f"candidate: {candidate!r} is the baseline, too; name another cohort", "candidate")
    if unknown := [line for line in waive if line not in LINES]:
        raise BadParameter(f"waive: {unknown[0][:64]!r} is not one of {', '.join(LINES)}", "waive")


def _window(scope: Scope, from_: str | None, to: str | None) -> Scope:
    if from_ is None and to is None:
        return scope
    if from_ is None or to is None:
        raise BadParameter("baseline_from: give both ends of the baseline's window", "baseline_from")
    from_ns, to_ns = parse_instant(from_, "baseline_from"), parse_instant(to, "baseline_to")
    if from_ns >= to_ns:
        raise BadParameter(
            "baseline_from: the window must start before it ends", "baseline_from", "bad_time_range"
        )
    return Scope(from_ns, to_ns, scope.model, scope.tenant, scope.route, "", scope.pool, scope.worker)


def _tried(named: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in named:
        kind, colon, cohort = text.partition(":")
        if kind not in TRIED or not colon or not cohort or len(cohort) > 512 or "\0" in cohort:
            raise BadParameter(f"tried: {text[:64]!r} is not KIND:COHORT; kinds: {', '.join(TRIED)}", "tried")
        found.setdefault(kind, []).append(cohort)
    return found


def _plan(given: GateBody) -> PlanReceipt | None:
    if given.receipt is None:
        return None
    text = _text(json.dumps(given.receipt, ensure_ascii=False))
    findings = verify(text, None if given.matrix is None else _text(given.matrix))
    receipt = None if findings.problems else Receipt.model_validate_json(text)
    return PlanReceipt(_text(given.receipt_name), receipt, findings)


def _text(given: str) -> str:
    """Text that can be written: JSON may hold halves of surrogates, which no answer can."""
    return given.encode(errors="replace").decode()


def _benchmarks(given: GateBody) -> dict[str, Benchmark]:
    try:
        named = {_text(name): raw for name, raw in given.benchmarks.items()}
        return {name: parse_benchmark(json.dumps(raw), name) for name, raw in named.items()}
    except BadReceipt as error:
        raise Unprocessable(str(error)) from error


def _objectives(asked: Objectives, plan: PlanReceipt | None) -> Objectives:
    """What requests are judged by: the receipt's contract, where there is one."""
    if plan is None or plan.receipt is None:
        return asked
    if any(item.source == "override" for item in asked.items):
        raise BadParameter(
            "ttft: the receipt's contract sets the objectives; leave ttft, tpot, target out", "ttft"
        )
    contract = plan.receipt.contract
    return asked.override(contract.ttft_s, contract.tpot_s, min(contract.attainment, 0.9999))


def _answer(answer: GateAnswer, objectives: Objectives, settled: bool) -> GateModel:
    limits = {(item.ttft, item.tpot) for item in objectives.items}
    one = next(iter(limits)) if len(limits) == 1 else None
    return GateModel(
        verdict=answer.word.value,
        refused=answer.refused,
        unsaid=answer.unsaid,
        settled=settled,
        objective={"ttft": one[0], "tpot": one[1]} if one else None,
        tolerance=answer.terms.tolerance,
        confidence=CONFIDENCE,
        baseline=_cohort(answer.baseline),
        candidate=_cohort(answer.candidate),
        plan=_plan_model(answer),
        promises=[_promise(line) for line in answer.promises],
        checklist=[CheckModel.model_validate({**vars(c), "facts": dict(c.facts)}) for c in answer.checks],
        slices=[_slice(part) for part in answer.slices],
    )


def _cohort(cohort: Cohort) -> CohortModel:
    counts, scope = cohort.found.counts, cohort.scope
    window = WindowModel.model_validate({"from": rfc3339(scope.from_ns), "to": rfc3339(scope.to_ns)})
    return CohortModel(
        name=cohort.name,
        window=window,
        requests=counts.total,
        evaluated=counts.evaluated,
        met=counts.met,
        layout=cohort.layout,
        accelerators=cohort.gpus,
    )


def _plan_model(answer: GateAnswer) -> PlanModel | None:
    if answer.plan is None:
        return None
    findings, scenario = answer.plan.findings, answer.scenario
    return PlanModel.model_validate(
        {
            "name": answer.plan.name,
            "status": findings.status,
            "problems": findings.problems,
            "unchecked": findings.unchecked,
            "scenario": scenario.id if scenario else None,
            "layout": scenario.layout.name if scenario else None,
        }
    )


def _interval(interval: Interval) -> EstimateModel:
    return EstimateModel(**asdict(interval))


def _promise(line: Promise) -> PromiseModel:
    return PromiseModel(
        name=line.name,
        prompts=line.prompts or None,
        unit=line.unit,
        promised=line.promised,
        promised_label="supplied" if line.name == "transfer_p95" else "modelled",
        measured=_interval(line.measured),
        limit=line.limit,
        kept=line.kept.value,
        why=line.why,
    )


def _slice(part: Slice) -> SliceModel:
    figures = [
        FigureModel(
            name=figure.name,
            baseline=_interval(figure.baseline),
            candidate=_interval(figure.candidate),
            difference=_interval(figure.difference),
            better=figure.better,
            reason=figure.reason,
        )
        for figure in part.figures
    ]
    requests = {"baseline": part.requests[0], "candidate": part.requests[1]}
    return SliceModel.model_validate(
        {"by": part.by, "key": part.key, "requests": requests, "figures": [f.model_dump() for f in figures]}
    )
