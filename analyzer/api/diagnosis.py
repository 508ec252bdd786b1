"""`GET /diagnosis` and `/attribution`."""

from typing import Annotated

from fastapi import APIRouter, Query

from analyzer.api.diagnosis_models import (
    AskedObjectiveModel,
    AttributionModel,
    CauseModel,
    DiagnosisModel,
    FindingModel,
    GroupModel,
    SpreadModel,
)
from analyzer.api.errors import BadParameter
from analyzer.api.models import AccountingModel, EvidenceModel, MissingModel, WindowModel
from analyzer.api.parameters import Asked, Provided
from analyzer.api.times import rfc3339
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.verdict.cause_answers import CauseAnswer
from analyzer.verdict.desk import FRESH_S, Answer
from analyzer.verdict.diagnosis import Diagnosis
from analyzer.verdict.evidence import Evidence
from analyzer.verdict.groups import GROUPS, attribution_by

router = APIRouter(tags=["causes"])


@router.get("/diagnosis", summary="Why requests of the window missed")
def diagnosis(asked: Asked, services: Provided) -> DiagnosisModel:
    """The on-call answer: causes with shares, evidence, counterfactuals and next steps;
    or that it can't tell.
    """
    answer = services.desk.ask(asked.scope, asked.objectives)
    return _model(answer, asked.scope, asked.objectives)


@router.get("/attribution", summary="Causes of misses by label")
def attribution(
    asked: Asked,
    services: Provided,
    by: Annotated[str, Query(description=f"One of {', '.join(GROUPS)}.")] = "cause",
) -> AttributionModel:
    """Count misses by cause within each group; a request with two workers counts for both."""
    if by not in GROUPS:
        raise BadParameter(f"by: {by[:64]!r} is not one of {', '.join(GROUPS)}", "by")
    found = services.desk.ask(asked.scope, asked.objectives, FRESH_S).diagnosis
    groups = attribution_by(services.store, found, by)
    return AttributionModel(by=by, groups=[GroupModel(**vars(group)) for group in groups])


def evidence_models(found: Diagnosis, items: list[Evidence]) -> list[EvidenceModel]:
    """Evidence with instants as RFC 3339."""
    origin = found.situation.loaded.origin_ns
    return [
        EvidenceModel(
            signal=item.signal,
            value=item.value,
            unit=item.unit,
            at=None if item.at is None else rfc3339(origin + round(item.at * 1e9)),
            source=item.source,
        )
        for item in items
    ]


def _model(answer: Answer, scope: Scope, objectives: Objectives) -> DiagnosisModel:
    found = answer.diagnosis
    origin, horizon = found.situation.loaded.origin_ns, found.situation.horizon
    return DiagnosisModel(
        window=WindowModel.model_validate({"from": rfc3339(scope.from_ns), "to": rfc3339(scope.to_ns)}),
        objective=_objective(objectives),
        settled=answer.settled,
        watermark=rfc3339(origin + round(horizon * 1e9)) if found.counts.total else None,
        requests=AccountingModel(**vars(found.counts)),
        dominant_cause=str(found.dominant),
        confidence=found.confidence,
        summary=found.summary,
        causes=[_cause(found, item) for item in found.causes],
        findings=[
            FindingModel(
                finding=item.finding,
                severity=item.severity,
                detail=item.detail,
                requests=item.requests,
                evidence=evidence_models(found, item.evidence),
            )
            for item in found.findings
        ],
        missing_telemetry=[MissingModel(**vars(item)) for item in found.missing],
        quantities=dict(found.quantities),
    )


def _objective(objectives: Objectives) -> AskedObjectiveModel:
    items = objectives.items
    same = {name: {getattr(item, name) for item in items} for name in ("ttft", "tpot", "target")}
    one = {name: values.pop() if len(values) == 1 else None for name, values in same.items()}
    if not items[0].target_asked:
        one["target"] = None
    return AskedObjectiveModel(**one, source=items[0].source)


def _cause(found: Diagnosis, item: CauseAnswer) -> CauseModel:
    return CauseModel(
        cause=str(item.cause),
        requests=round(item.requests, 3),
        share=item.share,
        excess_ttft_ms=_spread(item.excess_ttft),
        excess_tpot_ms=_spread(item.excess_tpot),
        would_have_met_without_it=item.would_have_met_without_it,
        confidence=item.confidence,
        evidence=evidence_models(found, item.evidence),
        next_step=item.next_step,
    )


def _spread(seconds: tuple[float, float] | None) -> SpreadModel | None:
    return None if seconds is None else SpreadModel(p50=seconds[0] * 1e3, p95=seconds[1] * 1e3)
