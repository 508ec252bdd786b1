"""Finds out what a file holds and reads it: detection is by content, never by name."""

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from collector.errors import BadBody, ConfigError
from collector.receive.formats.bytes_in import Counted, Gunzip
from collector.receive.formats.frames import PLAIN, TIMED, frame_length, read_frames
from collector.receive.formats.json_lines import read_json
from collector.receive.formats.report import FileReport, Record
from collector.receive.formats.signals import trace_spans
from collector.receive.formats.tar import read_tar

_HEAD = 1024
_LARGEST_BODY = 256 << 20
_MOST_NESTING = 4
"""As in a gzipped tar of gzipped files."""


def files_under(path: Path) -> list[Path]:
    """The file itself, or all files under a directory, in order. Raises ConfigError if missing."""
    if path.is_dir():
        return sorted(Path(folder) / file for folder, _, files in os.walk(path) for file in files)
    if not path.exists():
        raise ConfigError(f"{path} does not exist; give files or directories to import")
    return [path]


def read_path(path: Path, report: FileReport, on_read: Callable[[int], object]) -> Iterator[Record]:
    """Read one file, telling `on_read` the bytes as they are read. Unreadable files are reported."""
    try:
        with path.open("rb") as file:
            yield from read_stream(io.BufferedReader(Counted(file, on_read)), report.name, report)
    except OSError as error:
        report.skip(report.name, "cannot be read", error.strerror or str(error))


def read_stream(
    stream: "io.BufferedReader[Any]", name: str, report: FileReport, nesting: int = 0
) -> Iterator[Record]:
    """Read trace bodies from an open stream of any of the formats, noting in `report` what is not one."""
    head = stream.peek(_HEAD)
    if head[:2] == b"\x1f\x8b" and nesting < _MOST_NESTING:
        plain = io.BufferedReader(Gunzip(stream, lambda damage: report.skip(name, damage)), 1 << 16)
        yield from read_stream(plain, name, report, nesting + 1)
    elif head[257:262] == b"ustar" and nesting < _MOST_NESTING:
        report.format = "tar"
        yield from read_tar(
            stream,
            name,
            report,
            lambda data, place, into: read_stream(
                io.BufferedReader(io.BytesIO(data)), place, into, nesting + 1
            ),
        )
    elif head.lstrip()[:1] in (b"{", b"["):
        yield from read_json(stream, name, report)
    elif frame_length(head, TIMED):
        report.format = report.format or "OTLP protobuf, framed with receive times"
        yield from read_frames(stream, name, report, TIMED)
    elif frame_length(head, PLAIN):
        report.format = report.format or "OTLP protobuf, framed"
        yield from read_frames(stream, name, report, PLAIN)
    elif head[:1] == b"\n":
        report.format = report.format or "OTLP protobuf"
        yield from _read_body(stream, name, report)
    elif head:
        report.skip(name, "not a format pdscope reads")


def _read_body(stream: BinaryIO, name: str, report: FileReport) -> Iterator[Record]:
    body = stream.read(_LARGEST_BODY + 1)
    if len(body) > _LARGEST_BODY:
        report.skip(name, "body too large", f"over {_LARGEST_BODY} bytes")
        return
    try:
        yield Record(body, trace_spans(body), name)
    except BadBody as error:
        report.skip(name, str(error))
