"""Byte streams for readers: gunzip that gives what it can of a damaged file, a window to look ahead."""

import io
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

_CHUNK = 1 << 16


class Gunzip(io.RawIOBase):
    """Decompresses `stream` (several members too); where the gzip is damaged or cut short, tells and ends."""

    def __init__(self, stream: BinaryIO, on_damage: Callable[[str], None]):
        self._stream = stream
        self._on_damage = on_damage
        self._member = zlib.decompressobj(wbits=31)
        self._compressed = b""
        self._ended = False

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` with decompressed bytes; less at the end or at damage."""
        filled = 0
        while filled < len(buffer) and not self._ended:
            if not self._compressed:
                self._compressed = self._stream.read(_CHUNK)
            try:
                out = self._inflate(len(buffer) - filled)
            except zlib.error as error:
                self._end(f"damaged gzip: {error}")
                break
            buffer[filled : filled + len(out)] = out
            filled += len(out)
        return filled

    def _inflate(self, size: int) -> bytes:
        if not self._compressed:
            self._end("" if self._member.eof else "gzip cut short")
            return b""
        if self._member.eof:
            self._member = zlib.decompressobj(wbits=31)
        out = self._member.decompress(self._compressed, size)
        self._compressed = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        return out

    def _end(self, damage: str) -> None:
        self._ended = True
        if damage:
            self._on_damage(damage)


class Counted(io.RawIOBase):
    """Passes a file through and tells how many bytes were read of it."""

    def __init__(self, stream: BinaryIO, on_read: Callable[[int], object]):
        self._stream = stream
        self._on_read = on_read

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer`; 0 at the end."""
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._on_read(len(data))
        return len(data)


class Window:
    """A stream one can look ahead in; `offset` is the place of the next byte."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self._buffer = b""
        self._start = 0
        self.offset = 0

    def peek(self, size: int) -> bytes:
        """The next `size` bytes (fewer at the end), left in place."""
        missing = self._start + size - len(self._buffer)
        if missing > 0:
            self._buffer = self._buffer[self._start :] + self._stream.read(max(missing, _CHUNK))
            self._start = 0
        return self._buffer[self._start : self._start + size]

    def skip(self, size: int) -> None:
        """Go on by `size` bytes, or to the end."""
        passed = len(self.peek(size))
        self._start += passed
        self.offset += passed
