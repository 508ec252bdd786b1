"""OTLP/JSON to protobuf. OTLP writes ids in hexadecimal, protobuf's own JSON in base64; both are read."""

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.errors import BadBody
from collector.receive.signal import Message, Signal

_IDS = ("traceId", "spanId", "parentSpanId")
_RESOURCES = {
    Signal.TRACES: "resourceSpans",
    Signal.METRICS: "resourceMetrics",
    Signal.LOGS: "resourceLogs",
}
_POINTS = ("gauge", "sum", "histogram", "exponentialHistogram")


def parse_json(text: bytes, signal: Signal) -> Message:
    """Parse one export of a signal in JSON. Raises BadBody naming the place."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadBody(f"the body is not JSON: {error or 'nested too deeply'}") from error
    return _from_json(document, signal)


def traces_from_json(document: Any) -> ExportTraceServiceRequest:
    """Turn a parsed JSON document into an ExportTraceServiceRequest. Raises BadBody naming the field."""
    message = _from_json(document, Signal.TRACES)
    assert isinstance(message, ExportTraceServiceRequest)
    return message


def _from_json(document: Any, signal: Signal) -> Message:
    expected = _RESOURCES[signal]
    if not isinstance(document, dict):
        raise BadBody(f"the body is a JSON {type(document).__name__}, expected an object with {expected}")
    try:
        for holder in _id_holders(document, signal):
            _convert_ids(holder, signal)
        return ParseDict(document, signal.message(), ignore_unknown_fields=True)
    except (ParseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadBody(
            f"the body is not OTLP/JSON {signal.value}: {str(error)[:300] or 'nested too deeply'}"
        ) from error


def _id_holders(document: Any, signal: Signal) -> Iterator[dict[str, Any]]:
    """Every object of a document that holds trace or span ids."""
    resources = _objects([document], _RESOURCES[signal])
    if signal is Signal.LOGS:
        yield from _objects(_objects(resources, "scopeLogs"), "logRecords")
    elif signal is Signal.METRICS:
        for metric in _objects(_objects(resources, "scopeMetrics"), "metrics"):
            for kind in _POINTS:
                yield from _objects(_objects([metric.get(kind) or {}], "dataPoints"), "exemplars")
    else:
        for span in _objects(_objects(resources, "scopeSpans"), "spans"):
            yield span
            yield from _objects([span], "links")


def _objects(parents: list[Any], field: str) -> list[Any]:
    """The objects in a list-valued field of each parent."""
    return [child for parent in parents for child in parent.get(field) or []]


def _convert_ids(holder: dict[str, Any], signal: Signal) -> None:
    for field in _IDS:
        text = holder.get(field)
        # Sixteen or eight bytes always end in "=" in base64, never in hexadecimal.
        if text and not text.endswith("="):
            try:
                holder[field] = base64.b64encode(binascii.unhexlify(text)).decode()
            except ValueError as error:
                raise BadBody(
                    f"the body is not OTLP/JSON {signal.value}: {field} {text!r:.80} is not hexadecimal"
                ) from error
