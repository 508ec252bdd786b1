"""Every real capture imports whole: as many spans as a plain parse counts, no other file taken for one."""

import contextlib
import gzip
import io
import json
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.receive import import_files
from collector.store import Store
from tests.paths import CAPTURES

Count = Callable[[bytes], int]


def _parsed(body: bytes) -> int:
    message = ExportTraceServiceRequest.FromString(body)
    return sum(len(scope.spans) for resource in message.resource_spans for scope in resource.scope_spans)


def _framed(header: str) -> Count:
    def count(data: bytes) -> int:
        size, at, spans = struct.calcsize(header), 0, 0
        while at < len(data):
            length = struct.unpack_from(header, data, at)[-1]
            spans += _parsed(data[at + size : at + size + length])
            at += size + length
        return spans

    return count


def _json(data: bytes) -> int:
    exports = [line.get("req") or line.get("body") for line in map(json.loads, data.splitlines())]
    return sum(
        len(scope["spans"])
        for export in exports
        for resource in export["resourceSpans"]
        for scope in resource["scopeSpans"]
    )


def _tar(data: bytes) -> int:
    """Members of an archive, some of them shorter than they say: each header is looked for by its magic."""
    spans, at = 0, 0
    while (magic := data.find(b"ustar  \0", at)) >= 0:
        start = magic - 257
        header = tarfile.TarInfo.frombuf(data[start : start + 512], "utf-8", "strict")
        with contextlib.suppress(DecodeError):
            spans += _parsed(data[start + 512 : start + 512 + header.size])
        at = magic + 1
    return spans


def _request_traces(data: bytes) -> int:
    return len(data.splitlines())


_KINDS: dict[str, Count] = {
    "otlp_traces.bin.gz": _framed(">QI"),
    "traces.otlp.pb.gz": _framed(">I"),
    "otlp_traces.jsonl.gz": _json,
    "otlp.jsonl.gz": _json,
    "traces.jsonl.gz": _json,
    "otlp_raw.tar.gz": _tar,
    "reqtrace.jsonl.gz": _request_traces,
}
_FILES = sorted(path for path in CAPTURES.rglob("*.gz") if path.name in _KINDS)


def test_captures_are_there() -> None:
    assert len(_FILES) > 60


@pytest.mark.parametrize("path", _FILES, ids=lambda path: str(path.relative_to(CAPTURES)))
def test_a_capture_imports_whole(path: Path, store: Store) -> None:
    expected = _KINDS[path.name](gzip.decompress(path.read_bytes()))
    read: list[int] = []

    report = import_files([path], store, read.append)

    (file,) = report.files
    assert (file.spans, file.refused) == (expected, {})
    assert sum(read) == path.stat().st_size
    if path.name != "otlp_raw.tar.gz":
        assert not file.skipped
    newest = store.last_sequence
    if expected:
        ((stored,),) = store.query(
            "SELECT count() FROM spans WHERE ingest_sequence = {n:UInt64}", {"n": newest}
        )
        assert 0 < stored <= expected


@pytest.mark.parametrize(
    ("run", "damaged"),
    [("smoke", 11), ("baseline", 9), ("traced-clean", 9), ("fault-a1-client-disconnect-midstream", 0)],
)
def test_damaged_members_of_an_archive_are_named_and_cost_only_themselves(
    run: str, damaged: int, store: Store
) -> None:
    folder = CAPTURES / "vllm-0.32.0" / run

    raw, lines = import_files([folder / "otlp_raw.tar.gz", folder / "otlp.jsonl.gz"], store).files

    assert sum(raw.skipped.values()) == damaged
    assert raw.bodies + damaged == lines.bodies
    assert all("otlp_raw.tar.gz!otlp_raw/0" in example for example in raw.examples)


def test_json_and_protobuf_forms_of_a_capture_store_the_same_spans(store: Store) -> None:
    folder = CAPTURES / "dynamo-1.6.1" / "debug-everything"

    def spans_of(name: str) -> list[tuple[object, ...]]:
        before = store.last_sequence
        import_files([folder / name], store)
        return store.query(
            "SELECT * EXCEPT (ingest_sequence, ingested_at) FROM spans WHERE ingest_sequence > {n:UInt64} "
            "ORDER BY trace_id, span_id, start_ns",
            {"n": before},
        )

    assert spans_of("otlp_traces.bin.gz") == spans_of("otlp_traces.jsonl.gz")


def test_a_whole_folder_imports_and_says_what_it_passed_over(store: Store) -> None:
    folder = CAPTURES / "dynamo-1.6.1" / "all-signals-lifecycle"

    files = {Path(file.name).name: file for file in import_files([folder], store).files}

    assert files["otlp_traces.bin.gz"].spans == files["otlp_traces.jsonl.gz"].spans == 937
    assert files["reqtrace.jsonl.gz"].spans == 52
    assert files["otlp_logs.bin.gz"].skipped == {"OTLP logs, not read from files": 36}
    assert files["otlp_metrics.jsonl.gz"].skipped == {"OTLP metrics, not read from files": 9}
    assert files["README.md"].skipped == {"not a format pdscope reads": 1}
    others = set(files) - {"otlp_traces.bin.gz", "otlp_traces.jsonl.gz", "reqtrace.jsonl.gz"}
    assert all(files[name].spans == 0 and sum(files[name].skipped.values()) for name in others)


def test_an_archive_is_read_as_a_plain_tar_reader_reads_it(tmp_path: Path, store: Store) -> None:
    source = CAPTURES / "vllm-0.32.0" / "fault-d-prefill-saturated" / "otlp_raw.tar.gz"
    with tarfile.open(source) as archive:
        members = [archive.extractfile(member) for member in archive if member.isfile()]
        bodies = [member.read() for member in members if member]
    again = tmp_path / "pax.tar"
    with tarfile.open(again, "w", format=tarfile.PAX_FORMAT) as archive:
        for index, body in enumerate(bodies):
            info = tarfile.TarInfo(f"{'long-name-' * 12}{index}.pb")
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))

    (file,) = import_files([again], store).files

    assert (file.format, file.bodies, file.spans) == ("tar", len(bodies), sum(map(_parsed, bodies)))
    assert not file.skipped
