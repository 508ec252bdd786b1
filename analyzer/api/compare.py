"""`GET /compare`."""

from dataclasses import asdict, replace
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from analyzer.api.compare_models import (
    BucketSideModel,
    ComparedBucketModel,
    ComparedTurnSideModel,
    ComparedTurnsModel,
    CompareModel,
    ContrastModel,
    JudgedByModel,
    LatencyPointsModel,
    MethodModel,
    SideModel,
)
from analyzer.api.diagnosis_models import SourcedModel
from analyzer.api.errors import BadParameter, ErrorBody, Unlike
from analyzer.api.models import AccountingModel, WindowModel
from analyzer.api.parameters import Asked, Gpus, Provided, label
from analyzer.api.times import parse_instant, rfc3339
from analyzer.compare import errors
from analyzer.compare.bootstrap import CONFIDENCE, RESAMPLES
from analyzer.compare.comparison import Bucket, Comparison, compare
from analyzer.compare.contrast import Contrast
from analyzer.compare.side import BLOCKS, Side
from analyzer.compare.turns import Turns
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope

router = APIRouter(tags=["objectives"])

Cohort = Annotated[str | None, Query(description="A cohort (pd.cohort); empty means any.")]
Time = Annotated[str | None, Query(description="RFC 3339 or Unix seconds; default: the candidate's.")]


@router.get("/compare", summary="Two cohorts, or before and after", responses={409: {"model": ErrorBody}})
def get_compare(
    asked: Asked,
    services: Provided,
    baseline: Cohort = None,
    candidate: Cohort = None,
    baseline_from: Time = None,
    baseline_to: Time = None,
    baseline_gpus: Gpus = None,
    candidate_gpus: Gpus = None,
    accelerators: Annotated[
        Literal["normalise", "equal"], Query(description="equal: refuse sides of unequal size.")
    ] = "normalise",
    seed: Annotated[int, Query(ge=0, le=2**31, description="Of the resampling.")] = 0,
) -> CompareModel:
    """Attainment and goodput per accelerator-hour of both sides on the same mix of prompts, with intervals.

    `from` and `to` are the candidate's window. 409 names the difference when the sides are unlike.
    """
    if asked.scope.cohort:
        raise BadParameter("cohort: name the sides with baseline and candidate instead", "cohort")
    theirs = replace(asked.scope, cohort=label(candidate, "candidate"))
    ours = _baseline(asked.scope, label(baseline, "baseline"), baseline_from, baseline_to)
    _refuse_common_requests(ours, theirs)
    try:
        found = compare(
            services.store,
            (ours, theirs),
            asked.objectives,
            (baseline_gpus, candidate_gpus),
            equal_accelerators=accelerators == "equal",
            seed=seed,
        )
    except errors.Unlike as error:
        raise Unlike(str(error)) from error
    return _model(found, asked.objectives, seed)


def _refuse_common_requests(ours: Scope, theirs: Scope) -> None:
    """Raise BadParameter when a request can be on both sides: intervals need sides of their own."""
    apart = ours.to_ns <= theirs.from_ns or theirs.to_ns <= ours.from_ns
    other_cohort = ours.cohort and theirs.cohort and ours.cohort != theirs.cohort
    if not apart and not other_cohort:
        raise BadParameter(
            "baseline: the same requests would be on both sides; name two cohorts (baseline, candidate), "
            "or a window that ends before the other begins with baseline_from and baseline_to",
            "baseline",
        )


def _baseline(scope: Scope, cohort: str, from_: str | None, to: str | None) -> Scope:
    """The candidate's scope with the baseline's cohort and, where given, its window."""
    from_ns = parse_instant(from_, "baseline_from") if from_ else scope.from_ns
    to_ns = parse_instant(to, "baseline_to") if to else scope.to_ns
    if from_ns >= to_ns:
        raise BadParameter(
            "baseline_from: the window must start before it ends (`baseline_to`, or `to`)",
            "baseline_from",
            "bad_time_range",
        )
    return replace(scope, cohort=cohort, from_ns=from_ns, to_ns=to_ns)


def _model(found: Comparison, objectives: Objectives, seed: int) -> CompareModel:
    return CompareModel(
        baseline=_side(found.baseline),
        candidate=_side(found.candidate),
        objectives=[
            JudgedByModel(
                name=item.name, ttft=item.ttft, tpot=item.tpot, target=item.target, source=item.source
            )
            for item in objectives.items
        ],
        summary=found.summary,
        attainment=_contrasts(found.attainment),
        good_requests_per_gpu_hour=_contrast(found.good_per_gpu_hour),
        buckets=[_bucket(item) for item in found.buckets],
        turns=[_turns(item) for item in found.turns],
        accelerators=found.accelerators,
        notes=found.notes,
        method=MethodModel(
            intervals="bootstrap of blocks of time, percentiles",
            resamples=RESAMPLES,
            blocks=BLOCKS,
            confidence=CONFIDENCE,
            seed=seed,
        ),
    )


def _side(side: Side) -> SideModel:
    scope = side.scope
    return SideModel(
        cohort=scope.cohort or None,
        window=WindowModel.model_validate({"from": rfc3339(scope.from_ns), "to": rfc3339(scope.to_ns)}),
        requests=AccountingModel(**asdict(side.requests)),
        models=[model or None for model in side.models],
        ttft_source=side.ttft_source or None,
        gpus=SourcedModel(**vars(side.gpus)),
        gpu_hours=SourcedModel(**vars(side.gpu_hours)),
    )


def _contrast(item: Contrast) -> ContrastModel:
    return ContrastModel.model_validate(asdict(item))


def _contrasts(items: dict[str, Contrast]) -> dict[str, ContrastModel]:
    return {name: _contrast(item) for name, item in items.items()}


def _bucket(item: Bucket) -> ComparedBucketModel:
    ours, theirs = (
        BucketSideModel(evaluated=count, ttft=_points(found.ttft), tpot=_points(found.tpot))
        for count, found in zip(item.evaluated, item.latencies, strict=True)
    )
    return ComparedBucketModel(
        bucket=item.bucket or None,
        weight=item.weight,
        baseline=ours,
        candidate=theirs,
        attainment=_contrasts(item.attainment),
        good_requests_per_gpu_hour=_contrast(item.good_per_gpu_hour),
    )


def _points(values: tuple[float, ...] | None) -> LatencyPointsModel | None:
    return (
        None
        if values is None
        else LatencyPointsModel(**dict(zip(("p50", "p95", "p99"), values, strict=True)))
    )


def _turns(item: Turns) -> ComparedTurnsModel:
    figures = zip(item.requests, item.cached_fraction, item.appended, item.recomputed, strict=True)
    ours, theirs = (
        ComparedTurnSideModel(requests=count, cached_fraction=cached, appended=added, recomputed=again)
        for count, cached, added, again in figures
    )
    return ComparedTurnsModel(
        turns=item.name, baseline=ours, candidate=theirs, attainment=_contrast(item.attainment)
    )
