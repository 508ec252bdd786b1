"""How far the store has come: a small file beside the segments, written after each insert.

It is not synced. Lost or torn, more is replayed than needed; it is never ahead of what the store has.
"""

import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

_STORED = struct.Struct("<8sQIQ")
_MAGIC = b"PDSJPOS1"


@dataclass(frozen=True)
class Position:
    """Everything before `offset` of segment `number` (and in earlier segments) is stored."""

    number: int
    seed: int
    offset: int


class PositionFile:
    """Keeps one Position."""

    def __init__(self, path: Path):
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def read(self) -> Position | None:
        """The position, or None when none was written whole."""
        data = os.pread(self._file, _STORED.size + 4, 0)
        if len(data) != _STORED.size + 4:
            return None
        body, checksum = data[:-4], int.from_bytes(data[-4:], "little")
        magic, number, seed, offset = _STORED.unpack(body)
        return Position(number, seed, offset) if magic == _MAGIC and zlib.crc32(body) == checksum else None

    def write(self, position: Position) -> None:
        """Replace it. Raises OSError."""
        body = _STORED.pack(_MAGIC, position.number, position.seed, position.offset)
        os.pwrite(self._file, body + zlib.crc32(body).to_bytes(4, "little"), 0)

    def close(self) -> None:
        """Let go; safe to call twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
