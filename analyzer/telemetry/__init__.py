"""What arrives, what is missing for which answer, and what can't be so: the telemetry's own check-up."""

from analyzer.telemetry.check import Check, Kind, Severity
from analyzer.telemetry.recent import CheckUps
from analyzer.telemetry.report import TelemetryReport, examine

__all__ = ["Check", "CheckUps", "Kind", "Severity", "TelemetryReport", "examine"]
