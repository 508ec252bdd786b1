"""Bytes of a journal segment: a header, then records, each with a checksum of its own.

    header   8 bytes "PDSJRNL1", u64 segment number, u64 made at (Unix ns), 16 bytes salt, u32 CRC-32
    record   4 bytes "REC\\0", u32 length of the body, u8 kind, u32 CRC-32 of salt and all else; the body

Numbers are little endian. The salt keeps a body that holds journal bytes from being taken for a record when
reading goes on behind a damaged place.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = b"PDSJRNL1"
MARK = b"REC\0"
MAX_BODY = 1 << 30
"""No body is larger: a length above this is damage."""

_HEADER = struct.Struct("<8sQQ16sI")
_RECORD = struct.Struct("<4sIBI")
_SEALED = struct.Struct("<IB")
HEADER_SIZE = _HEADER.size
RECORD_SIZE = _RECORD.size

Buffer = bytes | memoryview


@dataclass(frozen=True)
class Header:
    """Start of a segment. `seed` begins the checksum of each of its records."""

    number: int
    made_ns: int
    seed: int


@dataclass(frozen=True)
class Record:
    """One accepted body: its kind (a byte the journal only carries), and where it ends in its segment."""

    kind: int
    body: Buffer
    end: int


@dataclass(frozen=True)
class Unreadable:
    """Bytes from `start` to `end` of a segment that are no whole record, and why."""

    start: int
    end: int
    problem: str
    torn: bool = False
    """The segment just ends within a record, or in zeros: a write that was cut short."""


def make_header(number: int, made_ns: int, salt: bytes) -> bytes:
    """Header of a new segment; `salt` is 16 random bytes."""
    head = _HEADER.pack(MAGIC, number, made_ns, salt, 0)[:-4]
    return head + struct.pack("<I", zlib.crc32(head))


def read_header(data: Buffer) -> Header:
    """Read a segment's header. Raises ValueError saying what is wrong with it."""
    if len(data) < HEADER_SIZE:
        raise ValueError(f"the header is cut short: {len(data)} of {HEADER_SIZE} bytes")
    magic, number, made_ns, salt, checksum = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise ValueError("this is not a journal segment")
    if checksum != zlib.crc32(bytes(data[: HEADER_SIZE - 4])):
        raise ValueError("the header's checksum does not match")
    return Header(number, made_ns, zlib.crc32(salt))


def make_record(kind: int, body: bytes, seed: int) -> bytes:
    """What goes before `body` in a segment."""
    checksum = zlib.crc32(body, zlib.crc32(_SEALED.pack(len(body), kind), seed))
    return _RECORD.pack(MARK, len(body), kind, checksum)


def length_at(data: Buffer, offset: int) -> int | None:
    """Size (header included) that a record at `offset` says it has; None when none can start there."""
    if len(data) - offset < RECORD_SIZE:
        return None
    mark, length, _, _ = _RECORD.unpack_from(data, offset)
    return RECORD_SIZE + length if mark == MARK and length <= MAX_BODY else None


def read_records(data: Buffer, start: int, seed: int, base: int = 0) -> Iterator[Record | Unreadable]:
    """Records of `data` from `start` on; behind a damaged place reading goes on at the next whole record.

    `base` is added to every offset: where `data` lies in its segment.
    """
    view = memoryview(data)
    offset = start
    while offset < len(view):
        record = _record_at(view, offset, seed, base)
        if isinstance(record, Record):
            yield record
            offset = record.end - base
            continue
        resumed = _next_record(data, view, offset + 1, seed)
        end = len(view) if resumed is None else resumed
        torn = resumed is None and (record == _SHORT or not any(view[offset:]))
        yield Unreadable(base + offset, base + end, record, torn)
        offset = end


_SHORT = "the record is cut short"


def _record_at(view: memoryview, offset: int, seed: int, base: int) -> Record | str:
    if len(view) - offset < RECORD_SIZE:
        return _SHORT
    mark, length, kind, checksum = _RECORD.unpack_from(view, offset)
    if mark != MARK or length > MAX_BODY:
        return "no record starts here"
    end = offset + RECORD_SIZE + length
    if end > len(view):
        return _SHORT
    body = view[offset + RECORD_SIZE : end]
    if checksum != zlib.crc32(body, zlib.crc32(_SEALED.pack(length, kind), seed)):
        return "the record's checksum does not match"
    return Record(kind, body, base + end)


def _next_record(data: Buffer, view: memoryview, start: int, seed: int) -> int | None:
    """Where the next whole record starts; None when there is none."""
    raw = data if isinstance(data, bytes) else bytes(data)
    # A body full of marks must not make this quadratic: so much is summed up at most.
    budget = 4 * len(raw) + (1 << 20)
    at = raw.find(MARK, start)
    while at >= 0 and budget > 0:
        size = length_at(view, at)
        if size is not None and at + size <= len(view):
            budget -= size
            if isinstance(_record_at(view, at, seed, 0), Record):
                return at
        at = raw.find(MARK, at + 1)
    return None
