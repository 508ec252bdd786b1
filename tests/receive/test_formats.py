"""Reading files: formats told apart by content, and damage that costs only the record it hit."""

import gzip
import io
import json
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToJson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.errors import ConfigError
from collector.receive.formats import FileReport, Record, read_path, read_stream
from collector.receive.formats.read import files_under
from tests.receive.bodies import START, body, hex_json, json_lines

BODIES = [body(f"record-{index}", 3) for index in range(5)]


def _timed(bodies: list[bytes]) -> bytes:
    return b"".join(struct.pack(">QI", START, len(one)) + one for one in bodies)


def _plain(bodies: list[bytes]) -> bytes:
    return b"".join(struct.pack(">I", len(one)) + one for one in bodies)


def _tar(bodies: list[bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for index, one in enumerate(bodies):
            info = tarfile.TarInfo(f"{index}.pb")
            info.size = len(one)
            archive.addfile(info, io.BytesIO(one))
    return out.getvalue()


def _read(data: bytes) -> tuple[list[Record], FileReport]:
    report = FileReport("file")
    return list(read_stream(io.BufferedReader(io.BytesIO(data)), "file", report)), report


def _names(records: list[Record]) -> list[str]:
    return [
        ExportTraceServiceRequest.FromString(record.body).resource_spans[0].scope_spans[0].spans[0].name
        for record in records
    ]


FORMATS: dict[str, tuple[Callable[[list[bytes]], bytes], str]] = {
    "timed": (_timed, "OTLP protobuf, framed with receive times"),
    "plain": (_plain, "OTLP protobuf, framed"),
    "tar": (_tar, "tar"),
    "lines": (json_lines, "OTLP JSON"),
}


@pytest.mark.parametrize("packed", [False, True], ids=["", "gzip"])
@pytest.mark.parametrize("kind", FORMATS)
def test_each_format_is_recognised_and_read(kind: str, packed: bool) -> None:
    write, name = FORMATS[kind]
    data = write(BODIES)

    records, report = _read(gzip.compress(data) if packed else data)

    assert report.format == name
    assert _names(records) == [f"record-{index}" for index in range(5)]
    assert [record.spans for record in records] == [3] * 5
    assert [ExportTraceServiceRequest.FromString(record.body) for record in records] == [
        ExportTraceServiceRequest.FromString(one) for one in BODIES
    ]
    assert not report.skipped


def test_a_raw_body_is_one_record() -> None:
    records, report = _read(BODIES[0])
    assert (report.format, records) == ("OTLP protobuf", [Record(BODIES[0], 3, "file")])


def test_one_json_document_over_many_lines_is_read() -> None:
    text = json.dumps(hex_json(BODIES[0]), indent=2).encode()
    records, report = _read(text)
    assert (_names(records), report.format, report.skipped) == (["record-0"], "OTLP JSON", {})
    records, _ = _read(json.dumps([hex_json(one) for one in BODIES], indent=2).encode())
    assert len(records) == 5


def test_ids_in_base64_and_in_hexadecimal_give_the_same_spans() -> None:
    base64_line = MessageToJson(ExportTraceServiceRequest.FromString(BODIES[0]), indent=None).encode()
    wrapped = b'{"seq": 1, "body": ' + base64_line + b"}\n"
    (from_base64,), report = _read(wrapped)
    (from_hex,), _ = _read(json_lines(BODIES[:1]))
    assert from_base64.body == from_hex.body
    assert report.format == "OTLP JSON, wrapped"


@pytest.mark.parametrize("kind", ["timed", "plain", "tar"])
def test_a_damaged_body_costs_only_itself(kind: str) -> None:
    broken = BODIES[2].replace(b"record-2", b"record-\xff")
    records, report = _read(FORMATS[kind][0]([*BODIES[:2], broken, *BODIES[3:]]))
    assert _names(records) == ["record-0", "record-1", "record-3", "record-4"]
    assert report.skipped == {"not a whole OTLP body": 1}
    assert report.examples[0].startswith("file!2.pb: " if kind == "tar" else "file@")


@pytest.mark.parametrize("kind", ["timed", "plain", "tar"])
@pytest.mark.parametrize("change", [-9, 9], ids=["bytes lost", "bytes added"])
def test_reading_goes_on_behind_a_record_whose_length_is_wrong(kind: str, change: int) -> None:
    data = FORMATS[kind][0](BODIES)
    at = data.index(BODIES[1]) + 60
    broken = data[:at] + (b"?" * change + data[at:] if change > 0 else data[at - change :])
    records, report = _read(broken)
    assert _names(records) == ["record-0", "record-2", "record-3", "record-4"]
    assert sum(report.skipped.values()) >= 1


def test_a_damaged_line_costs_only_itself() -> None:
    lines = json_lines(BODIES).splitlines()
    lines[1] = lines[1][:-20]
    lines[3] = b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "nothex"}]}]}]}'
    records, report = _read(b"\n".join([b'{"unrelated": 1}', *lines, b"", b"\xff\xfe"]))
    assert _names(records) == ["record-0", "record-2", "record-4"]
    assert sum(report.skipped.values()) == 4
    assert [example.split(":")[1] for example in report.examples] == ["line 1", "line 3", "line 5", "line 8"]


def test_a_damaged_first_line_costs_only_itself() -> None:
    records, report = _read(b'{"resourceSpans": [{\n' + json_lines(BODIES))
    assert len(records) == 5
    assert report.skipped == {"not JSON": 1}


def test_a_gzip_cut_short_gives_what_it_holds_and_says_so() -> None:
    records, report = _read(gzip.compress(json_lines(BODIES))[:-30])
    assert 0 < len(records) < 5
    assert report.skipped["gzip cut short"] == 1


def test_damaged_gzip_gives_what_came_before() -> None:
    data = bytearray(gzip.compress(json_lines(BODIES * 400)))
    data[len(data) // 2 : len(data) // 2 + 40] = b"\xff" * 40
    records, report = _read(bytes(data))
    assert len(records) > 0
    assert any("gzip" in reason for reason in report.skipped)


def test_gzip_members_one_after_the_other_are_one_file() -> None:
    records, _ = _read(gzip.compress(json_lines(BODIES[:2])) + gzip.compress(json_lines(BODIES[2:])))
    assert len(records) == 5


@pytest.mark.parametrize(
    "data", [b"# HELP a metric\n", b"PK\x03\x04zip", b"\x89PNG\r\n", b"\x0a\xff\xff", b"\0" * 700]
)
def test_other_files_are_named_as_such(data: bytes) -> None:
    records, report = _read(data)
    assert records == []
    assert len(report.examples) == 1


def test_an_empty_file_holds_nothing() -> None:
    assert _read(b"") == ([], FileReport("file"))


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        files_under(tmp_path / "nowhere")


def test_a_directory_is_read_in_order_with_what_lies_below(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.pb").write_bytes(BODIES[1])
    (tmp_path / "a.pb").write_bytes(BODIES[0])
    files = files_under(tmp_path)
    assert [file.name for file in files] == ["a.pb", "x.pb"]
    read: list[int] = []
    assert _names([r for f in files for r in read_path(f, FileReport(str(f)), read.append)]) == [
        "record-0",
        "record-1",
    ]
    assert sum(read) == len(BODIES[0]) + len(BODIES[1])


_REQUEST = {
    "request_id": "3cd376b9",
    "input_tokens": 312,
    "output_tokens": 15,
    "cached_tokens": 0,
    "request_received_ms": 1795971984993,
    "prefill_wait_time_ms": 3.958827,
    "kv_hit_rate": 0.0,
    "queue_depth": 0,
    "worker": {"prefill_worker_id": 16257335968488984589, "decode_worker_id": 6682387648525381170},
    "replay": {"input_sequence_hashes": [9803987839285416298]},
}


def _request_trace(**changes: object) -> bytes:
    event = {
        "schema": "dynamo.request.trace.v1",
        "event_type": "request_end",
        "event_time_unix_ms": 1795971985109,
        "request": {**_REQUEST, **changes},
    }
    return json.dumps({"timestamp": 1, "event": event}).encode() + b"\n"


def test_a_dynamo_request_trace_becomes_a_span_with_its_numbers_and_without_the_hashes() -> None:
    (record,), report = _read(_request_trace())

    (resource,) = ExportTraceServiceRequest.FromString(record.body).resource_spans
    (span,) = resource.scope_spans[0].spans
    attributes = {
        attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value"))
        for attribute in span.attributes
    }
    assert report.format == "Dynamo request trace"
    assert resource.resource.attributes[0].value.string_value == "dynamo-request-trace"
    assert span.name == "dynamo.request.trace"
    assert (span.start_time_unix_nano, span.end_time_unix_nano) == (
        1795971984993_000_000,
        1795971985109_000_000,
    )
    assert attributes == {
        "dynamo.trace.request_id": "3cd376b9",
        "dynamo.trace.input_tokens": 312,
        "dynamo.trace.output_tokens": 15,
        "dynamo.trace.cached_tokens": 0,
        "dynamo.trace.prefill_wait_time_ms": 3.958827,
        "dynamo.trace.kv_hit_rate": 0.0,
        "dynamo.trace.queue_depth": 0,
        "dynamo.trace.prefill_worker_id": "16257335968488984589",
        "dynamo.trace.decode_worker_id": "6682387648525381170",
    }


def test_request_traces_get_the_same_ids_every_time_and_different_ones_per_request() -> None:
    (first,), _ = _read(_request_trace())
    (again,), _ = _read(_request_trace())
    (other,), _ = _read(_request_trace(request_id="other"))
    assert first.body == again.body != other.body


def test_a_request_trace_without_what_a_span_needs_is_named() -> None:
    records, report = _read(
        _request_trace(request_id="") + _request_trace(request_received_ms="soon") + _request_trace()
    )
    assert [record.spans for record in records] == [1]
    assert report.skipped == {
        "request trace without a request_id": 1,
        "request trace without a time in request_received_ms": 1,
    }


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kind=st.sampled_from(sorted(FORMATS)),
    packed=st.booleans(),
    cuts=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 30), st.binary(max_size=12)), max_size=4),
)
def test_no_damage_makes_reading_fail_or_hang(
    kind: str, packed: bool, cuts: list[tuple[int, int, bytes]]
) -> None:
    data = FORMATS[kind][0](BODIES)
    data = gzip.compress(data) if packed else data
    for at, lost, put in cuts:
        data = data[: at % len(data)] + put + data[at % len(data) + lost :] if data else data
    records, report = _read(data)
    assert len(records) <= 5 + len(cuts)
    assert sum(report.skipped.values()) or len(records) == 5 or not data or kind == "tar"
