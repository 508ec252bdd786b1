"""Everything a broken or hostile client may send: a clear answer, and neighbours unharmed."""

import base64
import gzip
import json
import socket
from collections.abc import Callable

import grpc
import httpx
import pytest
from google.protobuf.json_format import MessageToDict
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.receive import OtlpReceiver
from collector.receive.grpc_listener import TRACE_SERVICE
from collector.store import Store
from tests.receive.bodies import body, export, unique_name
from tests.receive.conftest import LOOPBACK, Export

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
Stored = Callable[[str], int]


def _not_utf8(span: Span) -> None:
    span.status.message = "XXXX"


MALFORMED = {
    "truncated": body("truncated", 3)[:-7],
    "garbage": b"\xff\xfe\xfd" * 50,
    "text": b"hello, this is not OTLP",
    "another length": body("x")[1:],
    "not UTF-8": body("not-utf8", 1, _not_utf8).replace(b"XXXX", b"\xff\xfe\xc0\x80"),
    "nested too deeply": None,
}


def _deep() -> bytes:
    request = export("deep")
    value = request.resource_spans[0].scope_spans[0].spans[0].attributes[0].value
    for _ in range(95):
        value = value.array_value.values.add()
    inner = request.SerializeToString()
    # A hundred more levels, wrapped by hand: an encoder refuses to make them.
    return inner + _nest(inner, 120)


def _nest(inner: bytes, levels: int) -> bytes:
    message = b""
    for _ in range(levels):
        message = (
            b"\x2a" + _length(b"\x0a" + _length(message) + message) + b"\x0a" + _length(message) + message
        )
    attribute = b"\x0a\x01a\x12" + _length(message) + message
    resource = b"\x0a" + _length(attribute) + attribute
    resource_spans = b"\x0a" + _length(resource) + resource
    return b"\x0a" + _length(resource_spans) + resource_spans


def _length(data: bytes) -> bytes:
    number, out = len(data), bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


MALFORMED["nested too deeply"] = _deep()


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_body_is_invalid_over_grpc_and_its_neighbours_are_stored(
    kind: str, receiver: OtlpReceiver, stored: Stored
) -> None:
    name = unique_name()
    with grpc.insecure_channel(f"127.0.0.1:{receiver.grpc_port}") as channel:
        call = channel.unary_unary(f"/{TRACE_SERVICE}/Export")
        neighbours = [call.future(body(name), timeout=30) for _ in range(4)]
        bad = call.future(MALFORMED[kind], timeout=30)
        neighbours += [call.future(body(name), timeout=30) for _ in range(4)]

        assert bad.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert "not an OTLP ExportTraceServiceRequest" in bad.details()
        details = dict(bad.trailing_metadata())["grpc-status-details-bin"]
        assert Status.FromString(details).code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
        for neighbour in neighbours:
            assert not ExportTraceServiceResponse.FromString(neighbour.result()).HasField("partial_success")
    assert stored(name) == 8


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_body_is_a_bad_request_over_http(kind: str, traces_url: str) -> None:
    answer = httpx.post(traces_url, content=MALFORMED[kind], headers=PROTOBUF)

    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/x-protobuf"
    assert "not an OTLP ExportTraceServiceRequest" in Status.FromString(answer.content).message


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"resourceSpans"',
        b'{"resourceSpans": 7}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "zz"}]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": 5}]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "soon"}]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "\\ud800"}]}]}]}',
        b'{"resourceSpans": ' + b"[" * 100_000,
        b'{"resourceSpans": "\xff"}',
    ],
    ids=lambda text: repr(text[:30]),
)
def test_malformed_json_is_a_bad_request_answered_in_json(text: bytes, traces_url: str) -> None:
    answer = httpx.post(traces_url, content=text, headers=JSON)

    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["code"] == 3
    assert answer.json()["message"]


def test_an_empty_export_is_accepted(grpc_export: Export, traces_url: str) -> None:
    assert grpc_export(b"") == ExportTraceServiceResponse()
    answer = httpx.post(traces_url, content=b"", headers=PROTOBUF)
    assert (answer.status_code, answer.content) == (200, b"")
    answer = httpx.post(traces_url, content=b"{}", headers=JSON)
    assert (answer.status_code, answer.json()) == (200, {})


def test_other_signals_are_refused_with_reasons(grpc_export: Export) -> None:
    logs = ExportLogsServiceRequest()
    record = (
        logs.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=1_790_000_000_000_000_000)
    )
    record.severity_text = "INFO"

    answer = grpc_export(logs.SerializeToString())

    assert answer.partial_success.rejected_spans == 1
    assert "trace_id is not 16 bytes" in answer.partial_success.error_message


def test_a_body_over_the_limit_is_refused(receiver: OtlpReceiver, traces_url: str) -> None:
    large = b"\0" * (LOOPBACK.max_body_bytes + 1)
    with grpc.insecure_channel(f"127.0.0.1:{receiver.grpc_port}") as channel:
        refused = channel.unary_unary(f"/{TRACE_SERVICE}/Export").future(large, timeout=30)
        assert refused.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "larger than max" in refused.details()
    answer = httpx.post(traces_url, content=large, headers=PROTOBUF)
    assert answer.status_code == 413
    assert str(LOOPBACK.max_body_bytes) in Status.FromString(answer.content).message


def test_a_gzip_bomb_is_refused_without_being_unpacked(receiver: OtlpReceiver, traces_url: str) -> None:
    bomb = gzip.compress(b"\0" * (256 << 20), compresslevel=1)
    before = _resident_bytes()
    answer = httpx.post(traces_url, content=bomb, headers={**PROTOBUF, "content-encoding": "gzip"})
    assert answer.status_code == 413
    assert "once decompressed" in Status.FromString(answer.content).message
    assert _resident_bytes() - before < 100 << 20


def test_a_gzip_bomb_over_grpc_is_refused(receiver: OtlpReceiver) -> None:
    options = [("grpc.max_send_message_length", -1)]
    address = f"127.0.0.1:{receiver.grpc_port}"
    with grpc.insecure_channel(address, options, grpc.Compression.Gzip) as channel:
        refused = channel.unary_unary(f"/{TRACE_SERVICE}/Export").future(b"\0" * (64 << 20), timeout=30)
        assert refused.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def _resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize(
    ("headers", "status", "names"),
    [
        ({"content-type": "text/plain"}, 415, "text/plain"),
        ({}, 415, "application/x-protobuf"),
        ({**PROTOBUF, "content-encoding": "br"}, 415, "br"),
        ({**PROTOBUF, "content-encoding": "gzip"}, 400, "not gzip"),
    ],
)
def test_wrong_types_and_encodings_are_named(
    headers: dict[str, str], status: int, names: str, traces_url: str
) -> None:
    answer = httpx.post(traces_url, content=body("never"), headers=headers)

    assert answer.status_code == status
    message = (
        Status.FromString(answer.content).message
        if answer.headers["content-type"] == "application/x-protobuf"
        else answer.json()["message"]
    )
    assert names in message


def test_gzip_cut_short_is_a_bad_request(traces_url: str) -> None:
    cut = gzip.compress(body("never", 50))[:-12]
    answer = httpx.post(traces_url, content=cut, headers={**PROTOBUF, "content-encoding": "gzip"})
    assert answer.status_code == 400
    assert "cut short" in Status.FromString(answer.content).message


def test_other_paths_and_methods_are_told_where_to_go(traces_url: str) -> None:
    assert httpx.get(traces_url).headers["allow"] == "POST"
    answer = httpx.post(traces_url.replace("traces", "spans"), content=b"")
    assert answer.status_code == 404
    assert "/v1/traces" in answer.text


def test_a_client_that_leaves_mid_body_harms_nobody(
    receiver: OtlpReceiver, grpc_export: Export, stored: Stored
) -> None:
    with socket.create_connection(("127.0.0.1", receiver.http_port)) as connection:
        connection.sendall(
            b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\n"
            b"content-length: 100000\r\n\r\n" + body("half")
        )
    name = unique_name()
    grpc_export(body(name))
    assert stored(name) == 1


def _set(**fields: object) -> Callable[[Span], None]:
    def change(span: Span) -> None:
        for field, value in fields.items():
            setattr(span, field, value)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set(trace_id=b"x" * 17), "trace_id is not 16 bytes"),
        (_set(trace_id=b"x" * 15), "trace_id is not 16 bytes"),
        (_set(trace_id=b""), "trace_id is not 16 bytes"),
        (_set(trace_id=bytes(16)), "or all zero"),
        (_set(span_id=b"x" * 9), "span_id is not 8 bytes"),
        (_set(span_id=b"x"), "span_id is not 8 bytes"),
        (_set(span_id=bytes(8)), "or all zero"),
        (_set(start_time_unix_nano=0), "before 2000-01-01"),
        (_set(start_time_unix_nano=1_000_000_000), "before 2000-01-01"),
        (_set(end_time_unix_nano=1), "before the start"),
        (_set(end_time_unix_nano=4_102_444_800_000_000_000), "after 2099-12-31"),
        (_set(end_time_unix_nano=2**64 - 1), "after 2099-12-31"),
        (_set(start_time_unix_nano=2**64 - 1), "end time is before"),
    ],
)
def test_an_impossible_span_is_left_out_and_its_siblings_are_stored(
    change: Callable[[Span], None], words: str, receiver: OtlpReceiver, stored: Stored
) -> None:
    name = unique_name()
    with grpc.insecure_channel(f"127.0.0.1:{receiver.grpc_port}") as channel:
        call = channel.unary_unary(f"/{TRACE_SERVICE}/Export")
        neighbour = call.future(body(name, 2), timeout=30)
        odd = ExportTraceServiceResponse.FromString(call(body(name, 5, change), timeout=30))
        beside = ExportTraceServiceResponse.FromString(neighbour.result())

    assert odd.partial_success.rejected_spans == 1
    assert words in odd.partial_success.error_message
    assert not beside.HasField("partial_success")
    assert stored(name) == 4 + 2


def test_a_span_at_the_edge_of_time_is_stored(grpc_export: Export, stored: Stored) -> None:
    name = unique_name()
    grpc_export(body(name, 1, _set(start_time_unix_nano=946_684_800_000_000_000)))
    grpc_export(body(name, 1, _set(end_time_unix_nano=4_102_444_799_999_999_999)))
    grpc_export(body(name, 1, _set(kind=2**31 - 1, flags=2**32 - 1)))
    assert stored(name) == 3


def _every_value(span: Span) -> None:
    del span.attributes[:]

    def value(key: str) -> object:
        attribute = span.attributes.add()
        attribute.key = key
        return attribute.value

    value("text").string_value = ""
    value("whole").int_value = -(2**63)
    value("real").double_value = 0.1
    value("nan").double_value = float("nan")
    value("no").bool_value = False
    value("bytes").bytes_value = b"\0\xff"
    value("list").array_value.values.add().int_value = 3
    value("map").kvlist_value.values.add().key = "inner"
    value("unset")
    value("")


@pytest.mark.parametrize("over", ["grpc", "json"])
def test_every_value_type_is_stored(over: str, grpc_export: Export, traces_url: str, store: Store) -> None:
    name = unique_name()
    request = export(name, 1, _every_value)
    if over == "grpc":
        grpc_export(request.SerializeToString())
    else:
        assert httpx.post(traces_url, json=_otlp_json(request), headers=JSON).status_code == 200

    ((attrs,),) = store.query("SELECT attrs FROM spans WHERE name = {name:String}", {"name": name})
    assert attrs["text"] == ""
    assert attrs["whole"] == str(-(2**63))
    assert attrs["real"] == "0.1"
    assert attrs["nan"] == "nan"
    assert attrs["no"] == "false"
    assert attrs["bytes"] == "otlp:bytes:" + base64.b64encode(b"\0\xff").decode()
    assert attrs["list"].startswith("otlp:array:")
    assert attrs["map"].startswith("otlp:kvlist:")
    assert attrs["unset"] == attrs[""] == ""


def _otlp_json(request: object) -> dict[str, object]:
    """OTLP/JSON of an export: protobuf's JSON with ids in hexadecimal."""
    document = MessageToDict(request)
    for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for field in ("traceId", "spanId"):
            span[field] = base64.b64decode(span[field]).hex()
    return json.loads(json.dumps(document))


def test_json_ids_are_hexadecimal(traces_url: str, store: Store) -> None:
    name = unique_name()
    request = export(name, 1, _set(parent_span_id=b"parent!!"))
    span = request.resource_spans[0].scope_spans[0].spans[0]
    document = _otlp_json(request)
    held = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]  # type: ignore[index]
    held["parentSpanId"] = b"parent!!".hex().upper()
    held["kind"] = 2
    held["links"] = [{"traceId": "ab" * 16, "spanId": "cd" * 8}]
    held["somethingNewer"] = {"a": [1]}

    answer = httpx.post(
        traces_url,
        content=gzip.compress(json.dumps(document).encode()),
        headers={"content-type": "application/json; charset=utf-8", "content-encoding": "gzip"},
    )

    assert (answer.status_code, answer.json()) == (200, {})
    (row,) = store.rows("SELECT * FROM spans WHERE name = {name:String}", {"name": name})
    assert (row["trace_id"], row["span_id"]) == (span.trace_id, span.span_id)
    assert (row["parent_id"], row["kind"]) == (b"parent!!", 2)
    assert len(row["links"]) == 1


def test_a_span_with_10_000_attributes_and_5_mb_of_text_is_stored_within_limits(
    grpc_export: Export, store: Store
) -> None:
    def change(span: Span) -> None:
        span.attributes[0].value.string_value = "é" * (5 << 20)
        for index in range(10_000):
            attribute = span.attributes.add()
            attribute.key = f"key.{index}"
            attribute.value.int_value = index

    name = unique_name()
    answer = grpc_export(body(name, 2, change))

    assert not answer.HasField("partial_success")
    rows = store.query("SELECT attrs FROM spans WHERE name = {name:String} ORDER BY start_ns", {"name": name})
    assert len(rows) == 2
    assert len(rows[0][0]) == 128
    assert rows[0][0]["index"] == "é" * 4096


def test_a_body_that_sets_the_stores_own_field_changes_nothing(grpc_export: Export, store: Store) -> None:
    name = unique_name()
    grpc_export(body(name) + b"\xc0\x3e\x05")
    ((sequence,),) = store.query(
        "SELECT ingest_sequence FROM spans WHERE name = {name:String}", {"name": name}
    )
    assert sequence == store.last_sequence
