"""Reads telemetry files of several formats as OTLP trace bodies, and says what became of every record."""

from collector.receive.formats.read import read_path, read_stream
from collector.receive.formats.report import FileReport, Record

__all__ = ["FileReport", "Record", "read_path", "read_stream"]
