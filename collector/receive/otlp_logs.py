"""OTLP log records pdscope understands, as spans; everything else is counted and dropped.

Understood: Dynamo's request-trace records (JSON text, or an OTLP map), and vLLM's warning that the lease of
a prefill's KV ran out (`Releasing expired KV blocks for request …`): the release that the ledger reads.
Ids come from what is named, so that a record sent twice changes nothing.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.errors import BadBody
from collector.receive.formats import dynamo_request_trace

_EXPIRED = re.compile(r"Releasing expired KV blocks for request (?P<request>[^\s,;]{1,256})")
_MOST_TEXT = 64 << 10
_SCOPE = "pdscope.logs"


def spans_from_logs(body: bytes) -> tuple[bytes, int, Mapping[str, int]]:
    """Turn a serialized ExportLogsServiceRequest into a trace export.

    Returns it serialized, its number of spans, and how many records were dropped, by reason. Raises BadBody.
    """
    try:
        logs = ExportLogsServiceRequest.FromString(body)
    except DecodeError as error:
        raise BadBody(
            f"the body ({len(body)} bytes) is not an OTLP ExportLogsServiceRequest: it is cut short, is "
            "another message, nests too deeply, or has text that is not UTF-8. Nothing of it was stored"
        ) from error
    traces = ExportTraceServiceRequest()
    dropped: Counter[str] = Counter()
    spans = 0
    for resource_logs in logs.resource_logs:
        records = (record for scope in resource_logs.scope_logs for record in scope.log_records)
        found = list(_spans(records, resource_logs.resource, dropped))
        if found:
            sent = traces.resource_spans.add(resource=resource_logs.resource)
            scope = sent.scope_spans.add()
            scope.scope.name = _SCOPE
            scope.spans.extend(found)
            spans += len(found)
    return traces.SerializeToString(), spans, dropped


def _spans(records: Iterable[LogRecord], resource: Resource, dropped: Counter[str]) -> Iterable[Span]:
    for record in records:
        expiry = _EXPIRED.search(record.body.string_value[:_MOST_TEXT])
        if expiry:
            yield _expired(expiry["request"], record, resource)
            continue
        document = _document(record.body)
        if not dynamo_request_trace.is_request_trace(document):
            dropped["not_understood"] += 1
            continue
        try:
            yield dynamo_request_trace.span(document)
        except BadBody:
            dropped["incomplete_request_trace"] += 1


def _expired(request: str, record: LogRecord, resource: Resource) -> Span:
    """The lease of `request`'s KV ran out, as vLLM's own KV spans would say it."""
    at = record.time_unix_nano or record.observed_time_unix_nano
    instance = next((a.value.string_value for a in resource.attributes if a.key == "service.instance.id"), "")
    ids = hashlib.sha256(f"vllm.kv_expired:{instance}:{request}".encode("utf-8", "replace")).digest()
    in_trace = len(record.trace_id) == 16 and any(record.trace_id)
    return Span(
        trace_id=record.trace_id if in_trace else ids[:16],
        span_id=ids[16:24],
        name="kv.serve",
        start_time_unix_nano=at,
        end_time_unix_nano=at,
        attributes=[
            _text("gen_ai.request.id", request),
            _text("kv.outcome", "expired"),
            _text("pd.source", "log"),
        ],
    )


def _document(value: AnyValue) -> Any:
    if value.HasField("kvlist_value"):
        return _plain(value)
    text = value.string_value
    if not text.startswith("{") or len(text) > _MOST_TEXT:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _plain(value: AnyValue) -> Any:
    which = value.WhichOneof("value")
    if which == "kvlist_value":
        return {item.key: _plain(item.value) for item in value.kvlist_value.values}
    if which == "array_value":
        return [_plain(item) for item in value.array_value.values]
    return getattr(value, which) if which else None


def _text(key: str, value: str) -> KeyValue:
    attribute = KeyValue(key=key)
    attribute.value.string_value = value
    return attribute
