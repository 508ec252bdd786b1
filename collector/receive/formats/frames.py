"""Length-framed OTLP bodies: the Collector's file exporter (`proto`), and captures with receive times.

Collector: length u32, body. Capture: receive time u64 (Unix ns), length u32, body. Big-endian.
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO

from collector.errors import BadBody
from collector.receive.check import EARLIEST_NS, LATEST_NS
from collector.receive.formats.bytes_in import Window
from collector.receive.formats.report import FileReport, Record
from collector.receive.formats.signals import DAMAGED, trace_spans

TIMED = struct.Struct(">QI")
PLAIN = struct.Struct(">I")
_MOST_BYTES = 64 << 20
_FIRST_TAG = 0x0A
"""Every OTLP export starts with field 1, a message."""


def frame_length(head: bytes, header: struct.Struct) -> int | None:
    """Body length of a frame that `head` starts with, or None when it cannot be one."""
    if len(head) <= header.size:
        return None
    *times, length = header.unpack_from(head)
    if not 0 < length <= _MOST_BYTES or head[header.size] != _FIRST_TAG:
        return None
    return int(length) if all(EARLIEST_NS <= time < LATEST_NS for time in times) else None


def read_frames(stream: BinaryIO, name: str, report: FileReport, header: struct.Struct) -> Iterator[Record]:
    """Read frames; a damaged body costs itself, damaged framing the bytes up to the next that parses."""
    window = Window(stream)
    while window.peek(1):
        place = f"{name}@{window.offset}"
        length = frame_length(window.peek(header.size + 1), header)
        body = window.peek(header.size + length)[header.size :] if length else b""
        if not length or len(body) < length:
            lost = _skip_to_frame(window, header)
            report.skip(place, "damaged framing", f"{lost} bytes passed over")
            continue
        try:
            yield Record(body, trace_spans(body), place)
        except BadBody as error:
            report.skip(place, str(error))
            if str(error) == DAMAGED and not _frame_follows(window, header, length):
                _skip_to_frame(window, header)
                continue
        window.skip(header.size + length)


def _frame_follows(window: Window, header: struct.Struct, length: int) -> bool:
    end = header.size + length
    following = window.peek(end + header.size + 1)[end:]
    return not following or frame_length(following, header) is not None


def _skip_to_frame(window: Window, header: struct.Struct) -> int:
    """Go on to where a frame with a whole body starts, or to the end; returns the bytes passed over."""
    start = window.offset
    window.skip(1)
    while head := window.peek(header.size + 1):
        tag = head.find(_FIRST_TAG, header.size)
        length = frame_length(head, header) if tag == header.size else None
        if length is not None and _is_body(window.peek(header.size + length)[header.size :], length):
            break
        window.skip(_distance(window, header))
    return window.offset - start


def _distance(window: Window, header: struct.Struct) -> int:
    """Bytes to the next place that could start a frame: a header before a first tag."""
    ahead = window.peek(4096)
    tag = ahead.find(_FIRST_TAG, header.size + 1)
    return tag - header.size if tag > 0 else max(len(ahead) - header.size, 1)


def _is_body(body: bytes, length: int) -> bool:
    try:
        return len(body) == length and trace_spans(body) >= 0
    except BadBody as error:
        return str(error) != DAMAGED
