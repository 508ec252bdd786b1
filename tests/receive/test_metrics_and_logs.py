"""OTLP metrics and logs over both transports: what is kept, and what is counted and dropped."""

import json
from collections.abc import Callable

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client import CollectorRegistry

from analyzer.assemble.assembler import Assembler
from collector.errors import BadBody
from collector.receive import OtlpReceiver
from collector.receive.otlp_logs import spans_from_logs
from collector.receive.signal import Signal
from collector.store import Store
from tests.signals.otlp import body as metrics_body
from tests.signals.otlp import gauge, number

AT = 1_790_000_000_000_000_000


def logs(*texts: str, instance: str = "prefill-0", **more: object) -> bytes:
    """A log export of a vLLM prefill engine."""
    request = ExportLogsServiceRequest()
    sent = request.resource_logs.add()
    for key, value in (("service.name", "vllm-prefill"), ("service.instance.id", instance)):
        sent.resource.attributes.add(key=key).value.string_value = value
    records = sent.scope_logs.add().log_records
    for text in texts:
        records.add(time_unix_nano=AT, **more).body.string_value = text
    return request.SerializeToString()


def expired(request: str) -> str:
    return (
        f"Releasing expired KV blocks for request {request} which were retrieved by 0 remote worker(s) "
        "before lease expired."
    )


TRACE_RECORD = json.dumps(
    {
        "event": {
            "schema": "dynamo.request.trace.v1",
            "event_type": "request_end",
            "event_time_unix_ms": AT // 10**6,
            "request": {"request_id": "dyn-1", "request_received_ms": AT // 10**6 - 100, "input_tokens": 7},
        }
    }
)


def _spans(export: bytes) -> list[tuple[str, dict[str, str]]]:
    message = ExportTraceServiceRequest.FromString(export)
    return [
        (span.name, {a.key: a.value.string_value for a in span.attributes})
        for resource in message.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def test_what_is_understood_becomes_spans_and_the_rest_is_counted() -> None:
    secret = "user said: my secret"
    export, spans, dropped = spans_from_logs(
        logs(expired("cmpl-a-0-1234abcd"), secret, TRACE_RECORD, "{not json", "[1]", '{"event": 3}')
    )
    assert spans == 2
    assert dropped == {"not_understood": 4}
    found = dict(_spans(export))
    assert found["kv.serve"]["gen_ai.request.id"] == "cmpl-a-0-1234abcd"
    assert found["kv.serve"]["kv.outcome"] == "expired"
    assert found["dynamo.request.trace"]["dynamo.trace.request_id"] == "dyn-1"
    assert b"secret" not in export


def test_a_request_trace_as_a_map_is_understood_as_well() -> None:
    request = ExportLogsServiceRequest.FromString(logs(""))
    body = request.resource_logs[0].scope_logs[0].log_records[0].body

    def fill(target: object, document: dict[str, object]) -> None:
        for key, value in document.items():
            item = target.kvlist_value.values.add(key=key)  # type: ignore[attr-defined]
            if isinstance(value, dict):
                fill(item.value, value)
            elif isinstance(value, int):
                item.value.int_value = value
            else:
                item.value.string_value = str(value)

    fill(body, json.loads(TRACE_RECORD))
    export, spans, dropped = spans_from_logs(request.SerializeToString())
    assert (spans, dict(dropped)) == (1, {})
    assert _spans(export)[0][1]["dynamo.trace.request_id"] == "dyn-1"


def test_a_record_sent_twice_is_the_same_span() -> None:
    one, other = (spans_from_logs(logs(expired("cmpl-b-0-1234abcd")))[0] for _ in range(2))
    assert one == other


def test_an_incomplete_request_trace_is_counted_as_that() -> None:
    incomplete = json.dumps({"event": {"schema": "dynamo.request.trace.v1", "event_type": "request_end"}})
    assert spans_from_logs(logs(incomplete))[1:] == (0, {"incomplete_request_trace": 1})


def test_garbage_is_refused() -> None:
    with pytest.raises(BadBody, match="ExportLogsServiceRequest"):
        spans_from_logs(b"\xff\xff")


def test_metrics_over_both_transports_and_json(receiver: OtlpReceiver, store: Store) -> None:
    worker = "w-transports"
    sent = metrics_body(worker, gauge("vllm:num_requests_running", number(1, 3, engine=0)))
    url = f"http://127.0.0.1:{receiver.http_port}/v1/metrics"
    with grpc.insecure_channel(f"127.0.0.1:{receiver.grpc_port}") as channel:
        answer = channel.unary_unary(f"/{Signal.METRICS.service}/Export")(sent, timeout=30)
    assert ExportMetricsServiceResponse.FromString(answer) == ExportMetricsServiceResponse()
    assert (
        httpx.post(url, content=sent, headers={"content-type": "application/x-protobuf"}).status_code == 200
    )
    document = {
        "resourceMetrics": [
            {
                "resource": {
                    "attributes": [{"key": "service.instance.id", "value": {"stringValue": worker}}]
                },
                "scopeMetrics": [
                    {
                        "metrics": [
                            {
                                "name": "vllm:num_requests_running",
                                "gauge": {
                                    "dataPoints": [
                                        {
                                            "timeUnixNano": str(AT),
                                            "asDouble": 4,
                                            "exemplars": [{"traceId": "ab" * 16, "asDouble": 1}],
                                        }
                                    ]
                                },
                            }
                        ]
                    }
                ],
            }
        ]
    }
    assert httpx.post(url, json=document).status_code == 200
    count = store.query(
        "SELECT count() FROM signals WHERE resource_id IN "
        "(SELECT resource_id FROM resources WHERE instance = {w:String})",
        {"w": worker},
    )
    assert count == [(3,)]


def test_a_metrics_body_that_is_none_is_refused(receiver: OtlpReceiver) -> None:
    url = f"http://127.0.0.1:{receiver.http_port}/v1/metrics"
    headers = {"content-type": "application/x-protobuf"}
    assert httpx.post(url, content=b"\x0a\xff", headers=headers).status_code == 400
    assert httpx.post(url, json={"resourceMetrics": [{"scopeMetrics": 3}]}).status_code == 400


def test_logs_over_both_transports(
    receiver: OtlpReceiver, registry: CollectorRegistry, stored: Callable[[str], int]
) -> None:
    before = stored("kv.serve")
    url = f"http://127.0.0.1:{receiver.http_port}/v1/logs"
    with grpc.insecure_channel(f"127.0.0.1:{receiver.grpc_port}") as channel:
        answer = channel.unary_unary(f"/{Signal.LOGS.service}/Export")(
            logs(expired("x-1"), "noise"), timeout=30
        )
    assert ExportLogsServiceResponse.FromString(answer) == ExportLogsServiceResponse()
    headers = {"content-type": "application/x-protobuf"}
    assert httpx.post(url, content=logs(expired("x-2")), headers=headers).status_code == 200
    record = {
        "timeUnixNano": str(AT),
        "traceId": "ab" * 16,
        "body": {"stringValue": expired("x-3")},
    }
    document = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    assert httpx.post(url, json=document).status_code == 200
    assert httpx.post(url, content=logs("only noise"), headers=headers).status_code == 200
    assert stored("kv.serve") == before + 3
    reason = {"reason": "not_understood"}
    assert registry.get_sample_value("pdscope_dropped_log_records_total", reason) == 2


def test_the_ledger_reads_a_lease_that_ran_out_from_a_log(store: Store) -> None:
    """A request whose router span names it, and an engine that only logs: the hand-off shows as expired."""
    name = "chatcmpl-0f1e"
    request = ExportTraceServiceRequest()
    sent = request.resource_spans.add()
    sent.resource.attributes.add(key="service.name").value.string_value = "router"
    root = sent.scope_spans.add().spans.add(
        trace_id=b"\1" * 16,
        span_id=b"\2" * 8,
        name="pd.request",
        start_time_unix_nano=AT - 10**9,
        end_time_unix_nano=AT,
    )
    root.attributes.add(key="pd.request.id").value.string_value = name.removeprefix("chatcmpl-")
    root.attributes.add(key="pd.outcome").value.string_value = "cancelled"
    export, _, _ = spans_from_logs(logs(expired(f"{name}-1234abcd")))
    store.insert_traces([request.SerializeToString(), export])
    Assembler(store).catch_up()
    found = store.query(
        "SELECT request_id, t.releases.2, t.releases.3 FROM transfers AS t FINAL "
        "INNER JOIN requests AS r FINAL ON t.request_key = r.request_key "
        "WHERE NOT t.tombstone AND request_id = {id:String}",
        {"id": name.removeprefix("chatcmpl-")},
    )
    assert found == [(name.removeprefix("chatcmpl-"), ["expired"], ["prefill-0"])]
