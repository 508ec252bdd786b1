"""One file of the journal: made, appended to, read back, cut, set aside, removed."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from collector.journal.disk import Disk
from collector.journal.format import (
    HEADER_SIZE,
    Header,
    Record,
    Unreadable,
    length_at,
    make_header,
    make_record,
    read_header,
    read_records,
)

SUFFIX = ".pdj"
DIGITS = 16
ASIDE = "aside"


@dataclass(frozen=True)
class Damage:
    """A place in a segment that cannot be read."""

    file: Path
    offset: int
    size: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}: {self.size} bytes at offset {self.offset} cannot be read: {self.problem}"


def path_of(directory: Path, number: int) -> Path:
    """Where segment `number` lies."""
    return directory / f"{number:0{DIGITS}d}{SUFFIX}"


class Segment:
    """A segment file. `end` is how far it is known to be whole and on disk; nothing reads beyond."""

    def __init__(self, path: Path, file: int, header: Header, end: int):
        self.path = path
        self.header = header
        self.end = end
        self.opened = time.monotonic()
        self.damages: list[Damage] = []
        self._file = file

    @classmethod
    def make(cls, directory: Path, number: int, disk: Disk) -> "Segment":
        """Create segment `number`, on disk with its directory entry. Raises OSError."""
        path = path_of(directory, number)
        head = make_header(number, time.time_ns(), os.urandom(16))
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            disk.write(file, [head])
            disk.sync(file)
            disk.sync_directory(directory)
        except BaseException:
            os.close(file)
            path.unlink(missing_ok=True)
            raise
        return cls(path, file, read_header(head), HEADER_SIZE)

    @classmethod
    def open(cls, path: Path) -> "Segment":
        """Open a segment that was written before. Raises OSError, and ValueError on a damaged header."""
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            return cls(path, file, read_header(os.pread(file, HEADER_SIZE, 0)), os.fstat(file).st_size)
        except BaseException:
            os.close(file)
            raise

    def append(self, records: Sequence[tuple[int, bytes]], disk: Disk) -> None:
        """Append records (kind, body); returns when they are on disk. Raises OSError: then none counts."""
        buffers: list[bytes] = []
        for kind, body in records:
            buffers += (make_record(kind, body, self.header.seed), body)
        disk.write(self._file, buffers)
        disk.sync(self._file)
        self.end += sum(map(len, buffers))

    def cut(self) -> None:
        """Drop what lies beyond `end`. Raises OSError."""
        os.ftruncate(self._file, self.end)

    def read(self, start: int, max_bytes: int) -> list[Record | Unreadable]:
        """Records from `start` on, about `max_bytes` of them and at least one; empty at the end."""
        size = min(max_bytes, self.end - start)
        data = os.pread(self._file, size, start) if size > 0 else b""
        whole = _whole_records(data)
        if start + len(data) < self.end and whole < len(data):
            if whole == 0:
                # One record larger than asked for, or a damaged place: then the rest is looked through.
                first = length_at(data, 0)
                size = self.end - start if first is None else first
                data = os.pread(self._file, min(size, self.end - start), start)
            else:
                data = data[:whole]
        found = list(read_records(data, 0, self.header.seed, start))
        unreadable = next((item for item in found if isinstance(item, Unreadable)), None)
        if unreadable is not None and len(data) < self.end - start:
            data = os.pread(self._file, self.end - start, start)
            found = list(read_records(data, 0, self.header.seed, start))
        return found

    def records(self) -> Iterator[Record | Unreadable]:
        """Everything in it."""
        start = HEADER_SIZE
        while found := self.read(start, 8 << 20):
            yield from found
            start = found[-1].end

    def cut_torn_tail(self) -> int:
        """Cut what a write left behind that was cut short; returns its size in bytes. Raises OSError."""
        last: Record | Unreadable | None = None
        for item in self.records():
            last = item
        if not isinstance(last, Unreadable) or not last.torn:
            return 0
        lost = self.end - last.start
        self.end = last.start
        self.cut()
        return lost

    def close(self) -> None:
        """Let go of the file; safe to call twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def remove(self) -> None:
        """Close and unlink it."""
        self.close()
        self.path.unlink(missing_ok=True)

    def set_aside(self) -> Path:
        """Close it and move it where it is kept but not replayed; returns its new path."""
        self.close()
        return set_aside(self.path)


def set_aside(path: Path) -> Path:
    """Move a damaged segment into the directory of those kept for a person to look at."""
    directory = path.parent / ASIDE
    directory.mkdir(mode=0o700, exist_ok=True)
    target = directory / path.name
    path.replace(target)
    return target


def _whole_records(data: bytes) -> int:
    """Size of the whole records at the start of `data`, by what they say of themselves."""
    at = 0
    while (size := length_at(data, at)) is not None and at + size <= len(data):
        at += size
    return at
