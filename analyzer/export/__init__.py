"""What alert rules need, computed from the store every few seconds and shown on `/metrics`.

Counters count each request once, when it is finished; gauges describe the last minutes. Labels are bounded.
"""

from analyzer.export.exporter import Exporter

__all__ = ["Exporter"]
