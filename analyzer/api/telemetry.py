"""`GET /telemetry`: what was received, what became of it, what is missing, and how large the store is."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from analyzer.api.models import WindowModel
from analyzer.api.parameters import Asked, Provided
from analyzer.api.telemetry_window import (
    CheckModel,
    ClockModel,
    ScrapedModel,
    SignalModel,
    UnmappedModel,
    check_model,
    clock_models,
    scraped_model,
    signal_model,
    unmapped_model,
)
from analyzer.api.times import rfc3339
from analyzer.beside import beside
from collector.sql import read_sql

router = APIRouter(tags=["telemetry"])

_OF_ALL = (
    "telemetry_ingest",
    "telemetry_requests",
    "store_sizes",
    "telemetry_unread",
    "telemetry_workers",
)
"""Statements about everything stored."""
_REFUSED = ("bad_trace_id", "bad_span_id", "bad_start", "bad_end")
_CUT = ("private_attributes", "attributes_over_limit", "text_over_limit")


class IngestModel(BaseModel):
    """Spans received since the store was made."""

    exports: int = Field(description="Batches of exports that were stored")
    spans_received: int
    spans_stored: int = Field(description="Rows of the spans table; a client's retry may store a span twice")
    spans_refused: dict[str, int] = Field(description="Faults that kept spans out; one span may have several")
    dropped: dict[str, int] = Field(description="Attributes dropped or shortened, by reason")
    newest_at: str | None


class SequencesModel(BaseModel):
    """How far assembly has come: settled when it took the newest stored span into account."""

    stored: int
    assembled: int = Field(description="Newest sequence that changed a request")


class SystemModel(BaseModel):
    """Requests by the serving system they came from."""

    system: str | None
    requests: int
    without_outcome: int
    without_ttft: int
    with_late_spans: int
    late_spans: int
    duplicate_spans: int


class UnreadModel(BaseModel):
    """Spans of a name that no rule knows: they are stored and belong to no request."""

    scope: str | None
    name: str
    spans: int


class WorkerModel(BaseModel):
    """A process that sent spans."""

    service: str | None
    instance: str | None
    pool: str | None = Field(description="What the process itself says (pd.pool)")
    version: str | None
    last_seen: str


class TableModel(BaseModel):
    """A table's size."""

    table: str
    rows: int
    bytes: int


class TelemetryModel(BaseModel):
    """Answer of `/telemetry`: checks, scraped, signals, unmapped, clocks of the window, the rest of all."""

    window: WindowModel
    checks: list[CheckModel] = Field(
        description="What is missing, what can't be so, what happened; worst first"
    )
    scraped: list[ScrapedModel] = Field(description="Workers that are asked for their metrics; up to 2,000")
    signals: list[SignalModel] = Field(description="Pool signals that arrive")
    unmapped: list[UnmappedModel] = Field(description="Metrics that are stored and feed no signal")
    clocks: list[ClockModel] = Field(description="Workers' clocks against the router's")
    ingest: IngestModel
    sequences: SequencesModel
    systems: list[SystemModel]
    unread: list[UnreadModel] = Field(
        description="Spans among the newest 2,000 exports that no adapter knows; up to 50 names, most first"
    )
    workers: list[WorkerModel] = Field(description="Up to 1,000")
    store: list[TableModel]
    store_bytes: int


@router.get("/telemetry", summary="What was received and what became of it")
def telemetry(asked: Asked, services: Provided) -> TelemetryModel:
    """Check the window's telemetry, whatever its labels; counts of spans and sizes are of all stored."""
    store = services.store
    scope = asked.scope
    with beside() as reads:
        of_all = {name: reads(store.rows, read_sql(__file__, name)) for name in _OF_ALL}
        report = services.check_ups.ask(scope, asked.objectives)
        found = {name: read.result() for name, read in of_all.items()}
    ingest, systems, tables = found["telemetry_ingest"][0], found["telemetry_requests"], found["store_sizes"]
    spans = next((row["table_rows"] for row in tables if row["table"] == "spans"), 0)
    assembled = max((row["newest_sequence"] for row in systems), default=0)
    arrivals = report.arrivals
    return TelemetryModel(
        window=WindowModel.model_validate({"from": rfc3339(scope.from_ns), "to": rfc3339(scope.to_ns)}),
        checks=[check_model(check) for check in report.checks],
        scraped=[scraped_model(worker) for worker in arrivals.scraped],
        signals=[signal_model(item) for item in arrivals.signals],
        unmapped=[unmapped_model(row) for row in arrivals.unmapped],
        clocks=clock_models(report.clocks),
        ingest=_ingest(ingest, stored=spans),
        sequences=SequencesModel(stored=ingest["newest_sequence"], assembled=assembled),
        systems=[SystemModel(**row | {"system": row["system"] or None}) for row in systems],
        unread=[UnreadModel(**row | {"scope": row["scope"] or None}) for row in found["telemetry_unread"]],
        workers=[_worker(row) for row in found["telemetry_workers"]],
        store=[TableModel(table=row["table"], rows=row["table_rows"], bytes=row["bytes"]) for row in tables],
        store_bytes=sum(row["bytes"] for row in tables),
    )


def _ingest(row: dict[str, Any], stored: int) -> IngestModel:
    newest = row["newest_at"]
    return IngestModel(
        exports=row["exports"],
        spans_received=row["spans_received"],
        spans_stored=stored,
        spans_refused={name: row[name] for name in _REFUSED},
        dropped={name: row[name] for name in _CUT},
        newest_at=None if newest is None else rfc3339(int(newest.timestamp()) * 10**9),
    )


def _worker(row: dict[str, Any]) -> WorkerModel:
    texts = {name: row[name] or None for name in ("service", "instance", "pool", "version")}
    return WorkerModel(**texts, last_seen=rfc3339(int(row["last_seen"].timestamp()) * 10**9))
