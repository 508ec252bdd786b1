"""The last check-ups, so that those who ask again and again do not cost one each time."""

import threading
import time
from dataclasses import dataclass, replace

from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.telemetry.report import TelemetryReport, examine
from analyzer.verdict.desk import FRESH_S, Desk
from collector.store import Store

_STEP_NS = round(FRESH_S * 1e9)


@dataclass(frozen=True)
class _Kept:
    scope: Scope
    objectives: Objectives
    made_at: float
    report: TelemetryReport


class CheckUps:
    """One per application; thread-safe."""

    def __init__(self, store: Store, desk: Desk):
        self._store = store
        self._desk = desk
        self._lock = threading.Lock()
        self._kept: _Kept | None = None

    def ask(self, scope: Scope, objectives: Objectives) -> TelemetryReport:
        """Check up the window of a scope, whatever its labels. One that ends now may be some seconds old."""
        window = _window(scope, time.time_ns())
        with self._lock:
            kept = self._kept
            same = kept is not None and (kept.scope, kept.objectives) == (window, objectives)
            if kept is not None and same and time.monotonic() - kept.made_at <= FRESH_S:
                return kept.report
            found = self._desk.ask(window, objectives, FRESH_S).diagnosis
            report = examine(self._store, window, found)
            self._kept = _Kept(window, objectives, time.monotonic(), report)
            return report


def _window(scope: Scope, now_ns: int) -> Scope:
    """The scope without labels; one that ends now is widened to whole steps, so that the next is the same."""
    bare = Scope(scope.from_ns, scope.to_ns)
    if abs(now_ns - scope.to_ns) > 2 * _STEP_NS:
        return bare
    return replace(
        bare,
        from_ns=scope.from_ns // _STEP_NS * _STEP_NS,
        to_ns=-(-scope.to_ns // _STEP_NS) * _STEP_NS,
    )
