"""Rows of the tables that minutes are kept in."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from analyzer.minutes.causes import CauseSum, Labels, RequestCauses
from analyzer.slo.objectives import Objectives
from analyzer.verdict.findings import Finding

_LABELS = ("model", "tenant", "route", "cohort")
_COUNTS = (
    *("total", "evaluated", "met", "missed", "met_ttft", "met_tpot", "rejected", "errored"),
    *("cancelled", "invalid", "incomplete", "answered", "input_tokens", "output_tokens"),
)
_BY = ("minute", "objective", *_LABELS, "input_bucket", "version")
OBJECTIVE_COLUMNS = (
    *(*_BY, "counted_upto", "ttft_limit_seconds", "tpot_limit_seconds", "target"),
    *_COUNTS,
)
CAUSE_COLUMNS = (*_BY, "cause", "requests", "would_have_met", "excess_ttft_seconds", "excess_tpot_seconds")
FINDING_COLUMNS = ("started", "model", "finding", "severity", "detail", "requests", "version")
REQUEST_COLUMNS = ("first_bucket", "request_key", "version", "causes", "met_without")

Counts = Sequence[Mapping[str, Any]]
"""Rows of sql/objectives.sql."""
Rows = list[list[Any]]


def objective_rows(
    counts: Counts, objectives: Objectives, minutes: Sequence[datetime], version: int, upto: int
) -> Rows:
    """Rows by objective and label; one without says that nothing else is left of a minute."""
    rows: Rows = [
        [*_nothing(minute, version), upto, 0.0, 0.0, 0.0, *(0 for _ in _COUNTS)] for minute in minutes
    ]
    for row in counts:
        item = objectives.items[row["objective"] - 1]
        limits = (item.ttft, item.tpot, item.target)
        rows.append([*_by(row, item.name, version), upto, *limits, *(row[name] for name in _COUNTS)])
    return rows


def cause_rows(
    counts: Counts,
    causes: Mapping[Labels, Sequence[CauseSum]],
    objectives: Objectives,
    minutes: Sequence[datetime],
    version: int,
) -> Rows:
    """Rows by cause; one without says that nothing else is left of a minute."""
    rows: Rows = [[*_nothing(minute, version), "", 0.0, 0.0, None, None] for minute in minutes]
    for row in counts:
        name = objectives.items[row["objective"] - 1].name
        model, tenant, route, cohort = (row[f"{label}_code"] for label in _LABELS)
        at = Labels(row["minute"], row["objective"] - 1, model, tenant, route, cohort, row["input_bucket"])
        for item in causes.get(at, ()):
            figures = (str(item.cause), item.requests, float(item.would_have_met))
            added = (item.excess_ttft_s, item.excess_tpot_s)
            rows.append([*_by(row, name, version), *figures, *added])
    return rows


def finding_rows(findings: Sequence[tuple[str, Finding]], started: datetime, version: int) -> Rows:
    """Rows of findings by model; an empty one says that nothing else is left of these five minutes."""
    rows: Rows = [[started, "", "", "", "", None, version]]
    for model, item in findings:
        rows.append([started, model, item.finding, item.severity, item.detail, item.requests, version])
    return rows


def request_rows(requests: Sequence[RequestCauses], version: int) -> Rows:
    """Rows of single requests."""
    return [
        [datetime.fromtimestamp(item.first_bucket, UTC), item.key, version, item.causes, item.met_without]
        for item in requests
    ]


def _by(row: Mapping[str, Any], objective: str, version: int) -> list[Any]:
    labels = (row[label] for label in _LABELS)
    return [datetime.fromtimestamp(row["minute"], UTC), objective, *labels, row["input_bucket"], version]


def _nothing(minute: datetime, version: int) -> list[Any]:
    return [minute, "", *("" for _ in _LABELS), "", version]
