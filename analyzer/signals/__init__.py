"""Pool signals: what the engines' and the infrastructure's metrics say, ready for verdicts."""

from analyzer.signals.counters import Increase, increases, total
from analyzer.signals.dead import DeadMetric, dead_metrics
from analyzer.signals.gauges import STALE_AFTER_S, Gauge, Level, gauges
from analyzer.signals.histograms import Between, HistogramSummary, histograms, over_workers
from analyzer.signals.present import Present, missing, present
from analyzer.signals.read import (
    read_changes,
    read_gauges,
    read_histograms,
    read_increases,
    read_present,
    read_unmapped,
)
from analyzer.signals.rules_table import write_signal_rules

__all__ = [
    "STALE_AFTER_S",
    "Between",
    "DeadMetric",
    "Gauge",
    "HistogramSummary",
    "Increase",
    "Level",
    "Present",
    "dead_metrics",
    "gauges",
    "histograms",
    "increases",
    "missing",
    "over_workers",
    "present",
    "read_changes",
    "read_gauges",
    "read_histograms",
    "read_increases",
    "read_present",
    "read_unmapped",
    "total",
    "write_signal_rules",
]
