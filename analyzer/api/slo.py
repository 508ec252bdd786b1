"""`GET /slo`, `/slo/timeseries` and `/latency`."""

from collections import Counter
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query

from analyzer.api.errors import BadParameter
from analyzer.api.kept_causes import causes_over_time
from analyzer.api.models import (
    LatencyModel,
    ObjectiveModel,
    PercentilesModel,
    PointModel,
    SloModel,
    TimeseriesModel,
    WindowModel,
)
from analyzer.api.parameters import Asked, Gpus, Provided
from analyzer.api.times import rfc3339
from analyzer.slo.attainment import Attainment, attainments
from analyzer.slo.latency import GROUPS, METRICS, latency
from analyzer.slo.timeseries import MAX_POINTS, Point, default_step, timeseries

router = APIRouter(tags=["objectives"])


@router.get("/slo", summary="Attainment, goodput, error budget and burn rates")
def slo(asked: Asked, services: Provided, gpus: Gpus = None) -> SloModel:
    """Answer for each objective; a request counts for the first whose selector matches it."""
    answers = attainments(services.store, asked.scope, asked.objectives, gpus)
    window = WindowModel.model_validate(
        {"from": rfc3339(asked.scope.from_ns), "to": rfc3339(asked.scope.to_ns)}
    )
    return SloModel(
        window=window, objectives=[ObjectiveModel(**objective_fields(answer)) for answer in answers]
    )


@router.get("/slo/timeseries", summary="Attainment and goodput over time")
def slo_timeseries(
    asked: Asked,
    services: Provided,
    step: Annotated[
        int | None, Query(ge=1, le=31_622_400, description="Seconds; default: about 60 points.")
    ] = None,
) -> TimeseriesModel:
    """Answer per step, over all objectives together, with what the missed requests waited for longest."""
    seconds = step or default_step(asked.scope)
    if asked.scope.seconds / seconds > MAX_POINTS:
        raise BadParameter(f"step: {seconds} s makes more than {MAX_POINTS} points of this window", "step")
    points = timeseries(services.store, asked.scope, asked.objectives, seconds)
    if any(point.missed for point in points):
        causes = causes_over_time(services.store, services.desk, asked, seconds)
        for point in points:
            point.by_cause = causes.get(point.start_ns, Counter())
    return TimeseriesModel(step=seconds, points=[_point(point) for point in points])


@router.get("/latency", summary="Percentiles of TTFT, TPOT, end-to-end time and phases")
def latencies(
    asked: Asked,
    services: Provided,
    metric: Annotated[str, Query(description=f"One of {', '.join(METRICS)}.")] = "ttft",
    by: Annotated[str | None, Query(description=f"Group by one of {', '.join(GROUPS)}.")] = None,
    raw: Annotated[bool, Query(description="A phase's own duration instead of its exposed time.")] = False,
) -> LatencyModel:
    """Answer in seconds. A phase means its exposed time, 0 for requests without it."""
    _one_of(metric, METRICS, "metric")
    if by:
        _one_of(by, GROUPS, "by")
    try:
        rows = latency(services.store, asked.scope, asked.objectives, metric, by or None, raw)
    except ValueError as error:
        raise BadParameter(f"raw: {error}", "raw") from error
    note = "gaps between tokens are not kept per request" if metric == "itl" else None
    return LatencyModel(metric=metric, rows=[PercentilesModel(**asdict(row)) for row in rows], note=note)


def _one_of(value: str, known: tuple[str, ...], field: str) -> None:
    if value not in known:
        raise BadParameter(f"{field}: {value[:64]!r} is not one of {', '.join(known)}", field)


def objective_fields(answer: Attainment) -> dict[str, Any]:
    """Fields of an ObjectiveModel."""
    item = answer.objective
    used = answer.efficiency
    costs = {
        "requests_per_gpu_hour": used.per_gpu_hour["requests"],
        "output_tokens_per_gpu_hour": used.per_gpu_hour["output_tokens"],
        "network_bytes_per_good_request": used.per_good_request["network_bytes"],
    }
    return {
        "name": item.name,
        "selector": {name: value or None for name, value in vars(item.selector).items()},
        **{name: getattr(item, name) for name in ("ttft", "tpot", "target", "period_days", "source")},
        "requests": asdict(answer.requests),
        "attainment": {"ttft": answer.ttft, "tpot": answer.tpot, "joint": answer.joint},
        "budget_left": answer.budget_left,
        "burn_rates": answer.burn_rates,
        "goodput_rps": answer.goodput_rps,
        **{name: figure.value for name, figure in costs.items()},
        "sources": {name: figure.source for name, figure in costs.items() if figure.source},
        "not_measured": {name: figure.reason for name, figure in costs.items() if figure.value is None},
    }


def _point(point: Point) -> PointModel:
    return PointModel(
        t=rfc3339(point.start_ns),
        requests=point.requests,
        evaluated=point.evaluated,
        met=point.met,
        missed=point.missed,
        attainment=point.attainment,
        goodput_rps=point.goodput_rps,
        by_cause=dict(point.by_cause),
        by_phase=dict(point.by_phase),
    )
