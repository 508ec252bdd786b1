"""Reads pool signals from the store; what they mean is decided by the pure functions of this room."""

from collections.abc import Sequence
from typing import Any

from analyzer.signals.counters import Increase, increases
from analyzer.signals.gauges import STALE_AFTER_S, Gauge, gauges
from analyzer.signals.histograms import HistogramSummary, histograms
from analyzer.signals.present import Present, present
from collector.sql import read_sql
from collector.store import Store


def read_gauges(
    store: Store,
    from_ns: int,
    to_ns: int,
    signals: Sequence[str],
    model: str = "",
    stale_after_s: float = STALE_AFTER_S,
) -> list[Gauge]:
    """Gauges in (from_ns, to_ns], with the reading before it that still holds at its start."""
    rows = _rows(store, "gauges", from_ns - int(stale_after_s * 1e9), to_ns, model, signals=list(signals))
    return gauges(rows, stale_after_s)


def read_increases(
    store: Store, from_ns: int, to_ns: int, signals: Sequence[str], model: str = ""
) -> list[Increase]:
    """What the workers' counters grew by in (from_ns, to_ns]."""
    return increases(_rows(store, "increases", from_ns, to_ns, model, signals=list(signals)))


def read_histograms(
    store: Store, from_ns: int, to_ns: int, metrics: Sequence[str], model: str = ""
) -> list[HistogramSummary]:
    """What the engines' own histograms saw in (from_ns, to_ns], by metric name; [] reads all."""
    return histograms(_rows(store, "histograms", from_ns, to_ns, model, metrics=list(metrics)))


def read_changes(
    store: Store, from_ns: int, to_ns: int, signals: Sequence[str] = (), model: str = ""
) -> list[dict[str, Any]]:
    """Whether each metric moved in (from_ns, to_ns]: rows for `dead_metrics`."""
    return _rows(store, "changes", from_ns, to_ns, model, signals=list(signals))


def read_present(store: Store, from_ns: int, to_ns: int, model: str = "") -> list[Present]:
    """Which signals arrived in (from_ns, to_ns]."""
    return present(_rows(store, "present", from_ns, to_ns, model))


def read_unmapped(store: Store, from_ns: int, to_ns: int) -> list[dict[str, Any]]:
    """Metrics that arrived in (from_ns, to_ns] and feed no signal."""
    return _rows(store, "unmapped", from_ns, to_ns, "")


def _rows(
    store: Store, name: str, from_ns: int, to_ns: int, model: str, **params: object
) -> list[dict[str, Any]]:
    return store.rows(
        read_sql(__file__, f"sql/{name}"), {"from_ns": from_ns, "to_ns": to_ns, "model": model, **params}
    )
