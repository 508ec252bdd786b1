"""What of `/telemetry` is about a window: who is scraped, which signals arrive, and the check-up."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, Field

from analyzer.api.times import rfc3339
from analyzer.signals import Present
from analyzer.telemetry import Check
from analyzer.telemetry.read import ScrapedWorker
from analyzer.verdict.tables import ClockOffset
from collector.engines import ADAPTERS

_UNBOUNDED_NS = 2**62
_REASONS = {
    name: metric.reason for adapter in ADAPTERS for metric in adapter.unmapped for name in metric.names
}


class ScrapedModel(BaseModel):
    """A worker that is asked for its metrics."""

    worker: str
    pool: str | None
    job: str | None
    state: str = Field(description="up, down, or left when it is no target any more")
    since: str = Field(description="When it began to be so, within the window")
    last_seen: str = Field(description="Its last reading")
    reason: str | None = Field(description="Why it is down, or why it left")
    changes: int = Field(description="How often it went or came back within the window")


class SignalModel(BaseModel):
    """A pool signal that arrives from one worker."""

    pool: str | None
    worker: str
    system: str
    signal: str
    part: str | None
    metric: str
    points: int
    last_seen: str


class UnmappedModel(BaseModel):
    """A metric that is stored and feeds no signal."""

    metric: str
    kind: str
    workers: int
    points: int
    why: str | None = Field(description="Null when no adapter knows it")


class CheckModel(BaseModel):
    """One thing that the check-up found."""

    check: str
    kind: str = Field(description="missing, lie or fact")
    severity: str = Field(description="critical, warning or info")
    system: str | None
    subject: str | None = Field(description="The pool, worker, metric or span it is about")
    says: str
    matters: str | None = Field(description="Which answer suffers")
    fix: str | None = Field(description="The one line that would change it")


class ClockModel(BaseModel):
    """How far a worker's clock is off the router's, by causality."""

    worker: str
    offset_ms: float
    low_ms: float | None
    high_ms: float | None
    contradictory: bool


def scraped_model(worker: ScrapedWorker) -> ScrapedModel:
    """One scraped worker, instants as RFC 3339."""
    state = "left" if worker.left else ("up" if worker.up else "down")
    return ScrapedModel(
        worker=worker.worker,
        pool=worker.pool or None,
        job=worker.job or None,
        state=state,
        since=rfc3339(worker.left_ns or worker.since_ns),
        last_seen=rfc3339(worker.last_ns),
        reason=worker.left or worker.reason or None,
        changes=worker.changes,
    )


def signal_model(item: Present) -> SignalModel:
    """One arriving signal."""
    return SignalModel(
        pool=item.pool or None,
        worker=item.worker,
        system=item.dialect,
        signal=item.signal,
        part=item.part or None,
        metric=item.metric,
        points=item.points,
        last_seen=rfc3339(item.last_ns),
    )


def unmapped_model(row: dict[str, Any]) -> UnmappedModel:
    """One metric without a signal, with the adapters' reason."""
    return UnmappedModel(
        metric=row["metric"],
        kind=row["kind"],
        workers=row["workers"],
        points=row["points"],
        why=_REASONS.get(row["metric"]),
    )


def check_model(check: Check) -> CheckModel:
    """One check."""
    texts = {name: getattr(check, name) or None for name in ("system", "subject", "matters", "fix")}
    return CheckModel(check=check.check, kind=check.kind, severity=check.severity, says=check.says, **texts)


def clock_models(clocks: Iterable[ClockOffset]) -> list[ClockModel]:
    """The newest known offset of each worker."""
    newest = {clock.worker: clock for clock in sorted(clocks, key=lambda clock: clock.slice_ns)}
    return [
        ClockModel(
            worker=clock.worker,
            offset_ms=clock.offset_ns / 1e6,
            low_ms=_bound(clock.low_ns),
            high_ms=_bound(clock.high_ns),
            contradictory=clock.contradictory,
        )
        for clock in newest.values()
    ]


def _bound(ns: int) -> float | None:
    """The least and the greatest Int64 stand for a side without a bound."""
    return None if abs(ns) >= _UNBOUNDED_NS else ns / 1e6
