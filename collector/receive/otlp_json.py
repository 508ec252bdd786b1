"""OTLP/JSON to protobuf. OTLP writes ids in hexadecimal, protobuf's own JSON in base64; both are read."""

import base64
import binascii
import json
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.errors import BadBody

_IDS = ("traceId", "spanId", "parentSpanId")


def parse_traces_json(text: bytes) -> ExportTraceServiceRequest:
    """Parse one ExportTraceServiceRequest in JSON. Raises BadBody naming the place."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadBody(f"the body is not JSON: {error or 'nested too deeply'}") from error
    return traces_from_json(document)


def traces_from_json(document: Any) -> ExportTraceServiceRequest:
    """Turn a parsed JSON document into an ExportTraceServiceRequest. Raises BadBody naming the field."""
    if not isinstance(document, dict):
        raise BadBody(f"the body is a JSON {type(document).__name__}, expected an object with resourceSpans")
    try:
        for span in _objects(_objects(_objects([document], "resourceSpans"), "scopeSpans"), "spans"):
            _convert_ids(span)
            for link in _objects([span], "links"):
                _convert_ids(link)
        return ParseDict(document, ExportTraceServiceRequest(), ignore_unknown_fields=True)
    except (ParseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadBody(
            f"the body is not OTLP/JSON traces: {str(error)[:300] or 'nested too deeply'}"
        ) from error


def _objects(parents: list[Any], field: str) -> list[Any]:
    """The objects in a list-valued field of each parent."""
    return [child for parent in parents for child in parent.get(field) or []]


def _convert_ids(holder: dict[str, Any]) -> None:
    for field in _IDS:
        text = holder.get(field)
        # Sixteen or eight bytes always end in "=" in base64, never in hexadecimal.
        if text and not text.endswith("="):
            try:
                holder[field] = base64.b64encode(binascii.unhexlify(text)).decode()
            except ValueError as error:
                raise BadBody(
                    f"the body is not OTLP/JSON traces: {field} {text!r:.80} is not hexadecimal"
                ) from error
