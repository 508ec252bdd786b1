"""One request as REST returns it, from a judged row."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzer.api.models import (
    ClockCorrectionModel,
    CompositeModel,
    EvidenceModel,
    IntervalModel,
    MetModel,
    MissingModel,
    RequestDetailModel,
    RequestModel,
    VerdictModel,
)
from analyzer.api.routing import routing
from analyzer.api.times import rfc3339, seconds
from analyzer.clocks import Offset
from analyzer.slo.objectives import Objectives
from analyzer.verdict.request_verdict import RequestVerdict
from analyzer.verdict.tables import ClockOffset
from collector.phases import DECODE_PARTS, TTFT_PARTS, Phase

Row = Mapping[str, Any]
_TEXTS = (
    *("request_id", "client_request_id", "system", "model", "tenant", "route", "cohort"),
    *("outcome", "finish_reason", "ttft_source", "prefill_worker", "decode_worker"),
)
_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "attempts")


Shares = Mapping[str, float]


def request(row: Row, objectives: Objectives, causes: Shares | None = None) -> RequestModel:
    """Return the summary of a request; `causes` with their shares, the largest first."""
    return RequestModel(**_summary(row, objectives, causes))


def detail(
    row: Row, objectives: Objectives, verdict: RequestVerdict | None, clocks: Sequence[ClockOffset] = ()
) -> RequestDetailModel:
    """Return a request with timeline and verdict."""
    return RequestDetailModel(
        **_summary(row, objectives, verdict.causes if verdict else None),
        routing=routing(row["receipt"]),
        error_type=row["receipt"].get("error_type"),
        output_tokens_by=None if row["output_tokens"] is None else row["receipt"].get("output_tokens_by"),
        ended_at=_instant(row["ended_ns"]),
        first_token_at=_instant(row["first_token_ns"]),
        last_token_at=_instant(row["last_token_ns"]),
        phases=_phases(row),
        intervals=[_interval(interval) for interval in sorted(row["intervals"], key=_position)],
        composites=[_composite(composite) for composite in row["composites"]],
        clock_corrections=[_correction(clock) for clock in clocks],
        joined_by=row["joined_by"],
        notes=row["notes"],
        spans=row["spans"],
        duplicate_spans=row["duplicate_spans"],
        late_spans=row["late_spans"],
        verdict=_verdict(verdict),
    )


def _summary(row: Row, objectives: Objectives, causes: Shares | None) -> dict[str, Any]:
    shares = causes if causes is not None else {row["cause"]: 1.0} if row["cause"] else {}
    return {
        **{name: row[name] or None for name in _TEXTS},
        **{name: row[name] for name in _COUNTS},
        "key": row["key"],
        "trace_id": row["trace"],
        "started_at": rfc3339(row["started_ns"]),
        "http_status": row["http_status"] or None,
        "ttft": seconds(row["ttft_ns"]),
        "ttft_uncertainty": seconds(row["ttft_uncertainty_ns"]),
        "tpot": seconds(row["tpot_ns"]),
        "e2e": seconds(row["e2e_ns"]),
        "objective": objectives.items[row["objective"] - 1].name,
        "met": MetModel(ttft=_flag(row["met_ttft"]), tpot=_flag(row["met_tpot"]), joint=_flag(row["met"])),
        "cause": next(iter(shares), None),
        "causes": dict(shares),
        "complete": bool(row["complete"]),
        "censored": bool(row["censored"]),
        "exposed": _parts(TTFT_PARTS, row["exposed_ns"]),
        "exposed_decode": _parts(DECODE_PARTS, row["exposed_decode_ns"]),
    }


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _instant(ns: int | None) -> str | None:
    return None if ns is None else rfc3339(ns)


def _parts(names: tuple[str, ...], values: list[int]) -> dict[str, float] | None:
    """Seconds by name; None when the row has no such cut."""
    if not values:
        return None
    return {str(name): round(ns / 1e9, 9) for name, ns in zip(names, values, strict=True)}


def _phases(row: Row) -> dict[str, float]:
    """Own duration of each phase that somebody reported; the others were not measured, which is not 0."""
    reported = {interval["phase"] for interval in row["intervals"]}
    durations = _parts(tuple(Phase), row["phase_ns"]) or {}
    return {phase: duration for phase, duration in durations.items() if phase in reported}


def _position(interval: Row) -> tuple[int, int]:
    return interval["start_ns"], interval["end_ns"]


def _interval(interval: Row) -> IntervalModel:
    return IntervalModel(
        phase=interval["phase"] or None,
        covers=interval["covers"],
        worker=interval["worker"] or None,
        start=rfc3339(interval["start_ns"]),
        end=rfc3339(interval["end_ns"]),
        attempt=interval["attempt"],
        source=interval["source"],
        reason=interval["reason"] or None,
    )


def _composite(composite: Row) -> CompositeModel:
    exposed = round(composite["exposed_ns"] / 1e9, 9)
    return CompositeModel(covers=composite["covers"], exposed=exposed, reason=composite["reason"] or None)


def _correction(clock: ClockOffset) -> ClockCorrectionModel:
    bound = Offset(clock.offset_ns, clock.low_ns, clock.high_ns).uncertainty_ns
    uncertainty = None if bound is None else bound / 1e9
    return ClockCorrectionModel(worker=clock.worker, offset=clock.offset_ns / 1e9, uncertainty=uncertainty)


def _verdict(found: RequestVerdict | None) -> VerdictModel | None:
    if found is None:
        return None
    return VerdictModel(
        cause=str(found.cause),
        confidence=found.confidence,
        evidence=[
            EvidenceModel(signal=item.signal, value=item.value, unit=item.unit, at=None, source=item.source)
            for item in found.evidence
        ],
        counterfactual=found.counterfactual,
        missing_telemetry=[MissingModel(**vars(missing)) for missing in found.missing],
        next_step=found.next_step,
    )
