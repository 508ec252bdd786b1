"""The whole check-up of a window."""

from dataclasses import dataclass

from analyzer.slo.scope import Scope
from analyzer.telemetry.check import Check, Severity
from analyzer.telemetry.fingerprints import fingerprints
from analyzer.telemetry.lies import known_lies, lies
from analyzer.telemetry.missing import missing
from analyzer.telemetry.read import Arrivals, read_arrivals
from analyzer.telemetry.scraped import scraped
from analyzer.verdict.diagnosis import Diagnosis
from analyzer.verdict.tables import ClockOffset
from collector.store import Store

_ORDER = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)


@dataclass(frozen=True)
class TelemetryReport:
    """What arrived, and what that means; checks by severity."""

    arrivals: Arrivals
    checks: list[Check]
    clocks: list[ClockOffset]

    @property
    def well(self) -> bool:
        """Whether nothing is more than worth knowing."""
        return all(check.severity is Severity.INFO for check in self.checks)


def examine(store: Store, scope: Scope, found: Diagnosis) -> TelemetryReport:
    """Check the telemetry of a window. found: its diagnosis, for what spans and metrics say of each other."""
    arrivals = read_arrivals(store, scope)
    loaded = found.situation.loaded
    checks = [
        *scraped(arrivals),
        *missing(arrivals),
        *lies(arrivals, found.findings, loaded.histograms),
        *fingerprints(arrivals, loaded.workers.values()),
        *known_lies(arrivals),
    ]
    ordered = sorted(checks, key=lambda check: _ORDER.index(check.severity))
    return TelemetryReport(arrivals, ordered, loaded.clocks)
