"""JSON lines: plain OTLP exports (as the Collector's file exporter writes them), captures that wrap one under
`req` or `body`, Dynamo request traces, and TensorRT-LLM's perf metrics. A file that is one JSON document
is read too.
"""

import io
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from collector.errors import BadBody
from collector.receive.check import count_spans
from collector.receive.formats import dynamo_request_trace as dynamo
from collector.receive.formats import trtllm_perf_metrics as perf_metrics
from collector.receive.formats.report import FileReport, Record
from collector.receive.formats.signals import LOGS, METRICS
from collector.receive.otlp_json import traces_from_json

_LONGEST_LINE = 64 << 20
_SPANS_A_BODY = 512
_WRAPPERS = ("req", "body")

OTLP = "OTLP JSON"
WRAPPED = "OTLP JSON, wrapped"


def read_json(stream: BinaryIO, name: str, report: FileReport) -> Iterator[Record]:
    """Read a JSON-lines file or one JSON document; a line that cannot be read costs only itself."""
    traces = _RequestTraces(name)
    for place, document in _documents(stream, name, report):
        if dynamo.is_request_trace(document):
            report.format = report.format or dynamo.FORMAT
            try:
                yield from traces.add(dynamo.span(document), place)
            except BadBody as error:
                report.skip(place, str(error))
            continue
        if perf_metrics.is_perf_metrics(document):
            yield from _perf_metrics(document, place, report)
            continue
        try:
            yield _otlp(document, place, report)
        except BadBody as error:
            report.skip(place, *_reason(error))
    yield from traces.flush()


class _RequestTraces:
    """Collects request-trace spans into bodies of a good size."""

    def __init__(self, name: str):
        self._name = name
        self._spans: list[dynamo.Span] = []
        self._place = ""

    def add(self, span: dynamo.Span, place: str) -> Iterator[Record]:
        self._place = self._place or place
        self._spans.append(span)
        if len(self._spans) >= _SPANS_A_BODY:
            yield from self.flush()

    def flush(self) -> Iterator[Record]:
        if self._spans:
            yield Record(dynamo.body(self._spans), len(self._spans), self._place)
        self._spans, self._place = [], ""


def _perf_metrics(document: Any, place: str, report: FileReport) -> Iterator[Record]:
    """The records of one poll; a bad one costs only itself."""
    report.format = report.format or perf_metrics.FORMAT
    try:
        for record, offset_s in perf_metrics.records(document):
            try:
                yield Record(*perf_metrics.body(record, offset_s), place)
            except BadBody as error:
                report.skip(place, str(error))
    except BadBody as error:
        report.skip(place, str(error))


def _otlp(document: Any, place: str, report: FileReport) -> Record:
    if not isinstance(document, dict):
        raise BadBody("not a JSON object")
    wrapper = next((key for key in _WRAPPERS if isinstance(document.get(key), dict)), None)
    export = document if wrapper is None else document[wrapper]
    if "resourceMetrics" in export:
        raise BadBody(METRICS)
    if "resourceLogs" in export:
        raise BadBody(LOGS)
    if "resourceSpans" not in export:
        raise BadBody("JSON without resourceSpans or a Dynamo request trace")
    report.format = report.format or (WRAPPED if wrapper else OTLP)
    message = traces_from_json(export)
    return Record(message.SerializeToString(), count_spans(message), place)


def _documents(stream: BinaryIO, name: str, report: FileReport) -> Iterator[tuple[str, Any]]:
    """(place, parsed JSON) of each line, or of the whole file when it is one document over several lines."""
    first = stream.readline(_LONGEST_LINE)
    if first.rstrip()[-1:] in (b"{", b"[", b","):
        rest = stream.read(_LONGEST_LINE)
        try:
            document = json.loads(first + rest)
        except (ValueError, RecursionError):
            stream = io.BytesIO(rest)
        else:
            yield from ((name, part) for part in (document if isinstance(document, list) else [document]))
            return
    for number, line in enumerate(_lines(first, stream), start=1):
        place = f"{name}:line {number}"
        if not line.strip():
            continue
        if len(line) > _LONGEST_LINE:
            report.skip(place, "line too long", f"over {_LONGEST_LINE} bytes")
            continue
        try:
            yield place, json.loads(line)
        except (ValueError, RecursionError) as error:
            report.skip(place, "not JSON", str(error)[:200])


def _lines(first: bytes, stream: BinaryIO) -> Iterator[bytes]:
    """Lines; of one that is too long, only enough to show it."""
    line = first
    while line:
        whole = line
        while line and not line.endswith(b"\n"):
            line = stream.readline(_LONGEST_LINE)
            whole = whole if len(whole) > _LONGEST_LINE else whole + line
        yield whole
        line = stream.readline(_LONGEST_LINE)


def _reason(error: BadBody) -> tuple[str, str]:
    reason, _, detail = str(error).partition(": ")
    return reason, detail
