"""Tar archives of bodies, read so that a damaged member costs only itself.

Headers are found by their checksum: where a member is not as long as its header says, the next one still is.
"""

from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from collector.receive.formats.bytes_in import Window
from collector.receive.formats.report import FileReport, Record

_BLOCK = 512
_MOST_BYTES = 256 << 20
_SEARCH = 1 << 20
_MAGIC = b"ustar"
_MAGIC_AT = 257

ReadMember = Callable[[bytes, str, FileReport], Iterator[Record]]


class _Header(NamedTuple):
    name: str
    size: int
    is_file: bool


def read_tar(stream: BinaryIO, name: str, report: FileReport, read_member: ReadMember) -> Iterator[Record]:
    """Read every file of an archive with `read_member(data, place, report)`."""
    window = Window(stream)
    while block := window.peek(_BLOCK):
        header = _header(block)
        if header is None:
            if any(block):
                report.skip(f"{name}@{window.offset}", "damaged archive", "searching for the next member")
                window.skip(_find_header(window, 1))
            else:
                window.skip(_BLOCK)
            continue
        window.skip(_BLOCK)
        if header.size > _MOST_BYTES:
            report.skip(f"{name}!{header.name}", "member too large", f"{header.size} bytes")
            _pass_over(window, header.size)
            continue
        size, padded = _extent(window, header.size)
        if header.is_file:
            yield from read_member(window.peek(size), f"{name}!{header.name}", report)
        window.skip(padded)


def _extent(window: Window, size: int) -> tuple[int, int]:
    """Bytes of the member's data, and to the next header: less than declared when one comes sooner."""
    padded = -(-size // _BLOCK) * _BLOCK
    following = window.peek(padded + _BLOCK)[padded:]
    if not following or not any(following) or _header(following):
        return size, padded
    found = _find_header(window, 0)
    return min(size, found), found


def _find_header(window: Window, start: int) -> int:
    """Distance to the next header at `start` or later, or to the end of the archive."""
    reach = _SEARCH
    while True:
        data = window.peek(reach)
        magic = data.find(_MAGIC, start + _MAGIC_AT)
        while magic >= 0:
            begin = magic - _MAGIC_AT
            if _header(data[begin : begin + _BLOCK]):
                return begin
            magic = data.find(_MAGIC, magic + 1)
        if len(data) < reach:
            return len(data)
        reach *= 2


def _header(block: bytes) -> _Header | None:
    """The header in a block, or None when its checksum says there is none."""
    if len(block) < _BLOCK or block[_MAGIC_AT : _MAGIC_AT + 5] != _MAGIC:
        return None
    try:
        checksum = int(block[148:156].strip(b" \0") or b"0", 8)
        size = int(block[124:136].strip(b" \0") or b"0", 8)
    except ValueError:
        return None
    if checksum != sum(block[:148]) + 8 * ord(" ") + sum(block[156:]):
        return None
    name = block[:100].rstrip(b"\0").decode("utf-8", "replace")
    return _Header(name, size, block[156:157] in (b"0", b"\0"))


def _pass_over(window: Window, size: int) -> None:
    left = -(-size // _BLOCK) * _BLOCK
    while left > 0 and window.peek(1):
        step = min(left, _SEARCH)
        window.skip(step)
        left -= step
