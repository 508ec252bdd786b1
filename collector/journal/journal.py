"""Accepted bodies, on disk before they are acknowledged, read back in order until the store has them.

One thread appends, one takes; both may run at once. After a crash the segments found are read again from the
position last stored, so that what was acknowledged is handed on at least once.
"""

import errno
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from collector.errors import StoreError
from collector.journal.disk import Disk
from collector.journal.errors import DiskFull, JournalFailed, JournalFull
from collector.journal.format import HEADER_SIZE, RECORD_SIZE, Record, Unreadable
from collector.journal.position import Position, PositionFile
from collector.journal.segment import DIGITS, SUFFIX, Damage, Segment, set_aside

_log = logging.getLogger(__name__)

POSITION_FILE = "stored"


@dataclass(frozen=True)
class JournalLimits:
    """How much the journal may hold (bytes), and how long (seconds) a stored body may stay on disk."""

    max_bytes: int = 4 << 30
    segment_bytes: int = 64 << 20
    min_free_bytes: int = 512 << 20
    max_age: float = 10.0


@dataclass(frozen=True)
class Taken:
    """Records that are to be stored next, and where the journal stands once they are."""

    records: Sequence[Record]
    segment: Segment
    end: int


class Journal:
    """The journal in one directory. Thread-safe for one appending and one taking thread."""

    def __init__(self, directory: Path, limits: JournalLimits | None = None, disk: Disk | None = None):
        """Open it, cutting a torn tail and setting unreadable segments aside. Raises StoreError."""
        self.directory = directory
        self.limits = limits or JournalLimits()
        self.damages: list[Damage] = []
        """What could not be read back, since this opened."""
        self._disk = disk or Disk()
        self._changed = threading.Condition()
        self._active: Segment | None = None
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._stored = PositionFile(directory / POSITION_FILE)
            position = self._stored.read()
            self._segments = deque(self._found(position))
        except OSError as error:
            raise StoreError(
                f"cannot open the journal in {directory}: {error.strerror}; it must lie where this user may "
                "read and write"
            ) from error
        self._taken = HEADER_SIZE
        if position and self._segments:
            first = self._segments[0].header
            if (position.number, position.seed) == (first.number, first.seed):
                self._taken = position.offset
        self._bytes = sum(segment.end for segment in self._segments)
        self._appended = sum(segment.end for segment in self._segments) - self._before_backlog()
        self._stored_until = 0.0
        self._mark = (time.time(), self._appended)
        newest = self._segments[-1].header.number if self._segments else 0
        # A number is never used twice: a position that outlived its segment must not skip another's records.
        self._next = max(newest, position.number if position else 0, self._newest_file()) + 1

    @property
    def backlog_bytes(self) -> int:
        """Bytes of records that are not yet stored."""
        with self._changed:
            return self._backlog()

    @property
    def stored_until(self) -> float:
        """Everything acknowledged before this (Unix seconds) is stored; infinite while nothing waits."""
        with self._changed:
            return self._stored_until if self._backlog() else math.inf

    @property
    def held_bytes(self) -> int:
        """Bytes of all segments on disk."""
        return self._bytes

    def refusal(self, size: int = 0) -> JournalFull | DiskFull | None:
        """Why `size` more bytes would not be taken now; None when they would."""
        if self._bytes + size > self.limits.max_bytes:
            return JournalFull(
                f"the journal holds {self._bytes:,} bytes that wait to be stored, of at most "
                f"{self.limits.max_bytes:,} (journal_max_bytes); send this export again later"
            )
        free = self._disk.free_bytes(self.directory)
        if free - size < self.limits.min_free_bytes:
            return DiskFull(
                f"{free:,} bytes are free where the journal lies, {self.limits.min_free_bytes:,} are kept "
                "free (journal_min_free_bytes); send this export again later"
            )
        return None

    def append(self, records: Sequence[tuple[int, bytes]]) -> None:
        """Put records (kind, body) on disk; returns when they survive a power cut.

        Raises JournalFull, DiskFull, JournalFailed: then nothing of them is promised.
        """
        size = sum(RECORD_SIZE + len(body) for _, body in records)
        refused = self.refusal(size)
        if refused:
            raise refused
        try:
            segment = self._writable(size)
            segment.append(records, self._disk)
        except OSError as error:
            self._abandon()
            raise _failure(self.directory, error) from error
        with self._changed:
            self._bytes += size
            self._appended += size
            self._changed.notify_all()

    def take(self, max_bytes: int) -> Taken | None:
        """The next records that are not stored, about `max_bytes` of them; None when there are none.

        Asked again before `stored` it gives the same. What cannot be read is noted in `damages` and passed
        over; its segment is set aside when the rest of it is stored.
        """
        while True:
            with self._changed:
                if not self._segments:
                    return None
                segment, start = self._segments[0], self._taken
                last = segment is self._active
            try:
                found = segment.read(start, max_bytes)
            except OSError as error:
                raise JournalFailed(f"cannot read {segment.path}: {error.strerror}") from error
            if found:
                self._note(segment, found)
                records = [item for item in found if isinstance(item, Record)]
                if records:
                    return Taken(records, segment, found[-1].end)
                self._advance(segment, found[-1].end)
            elif last:
                return None
            else:
                self._finish(segment)

    def stored(self, taken: Taken) -> None:
        """Say that the store has what was taken; segments that hold nothing else go."""
        self._advance(taken.segment, taken.end)
        with self._changed:
            marked_at, appended = self._mark
            if self._appended - self._backlog() >= appended:
                self._stored_until, self._mark = marked_at, (time.time(), self._appended)

    def wait(self, timeout: float) -> None:
        """Return when something may be there to take, at the latest after `timeout` seconds."""
        with self._changed:
            if self._segments and self._taken < self._segments[0].end:
                return
            self._changed.wait(timeout)

    def tidy(self) -> None:
        """Remove what is stored, once it is older than the limit. The taking thread calls it when idle."""
        with self._changed:
            active = self._active
            idle = active is not None and self._segments[0] is active and self._taken >= active.end
            if not active or not idle or time.monotonic() - active.opened < self.limits.max_age:
                return
            self._active = None
        self._finish(active)

    def close(self) -> None:
        """Close every file; what is not stored stays for the next start."""
        with self._changed:
            if self._active and self._segments[0] is self._active and self._taken >= self._active.end:
                self._segments.popleft().remove()
            self._active = None
            for segment in self._segments:
                segment.close()
            self._segments.clear()
        self._stored.close()

    def _backlog(self) -> int:
        return sum(segment.end for segment in self._segments) - self._before_backlog()

    def _found(self, position: Position | None) -> list[Segment]:
        found: list[Segment] = []
        paths = sorted(self.directory.glob(f"*{SUFFIX}"))
        for path in paths:
            try:
                segment = Segment.open(path)
            except ValueError as error:
                if path == paths[-1] and path.stat().st_size <= HEADER_SIZE:
                    # Nothing was acknowledged before its header was whole.
                    path.unlink()
                else:
                    self._report(Damage(path, 0, path.stat().st_size, str(error)), set_aside(path))
                continue
            if position and segment.header.number < position.number:
                segment.remove()
                continue
            found.append(segment)
        if found and (cut := found[-1].cut_torn_tail()):
            _log.warning("%s: cut a torn tail of %d bytes at offset %d", found[-1].path, cut, found[-1].end)
        return found

    def _newest_file(self) -> int:
        names = (path.stem for path in self.directory.rglob(f"*{SUFFIX}"))
        # Longer names are of exports that the store refused, not of segments of this journal.
        return max((int(name) for name in names if name.isdecimal() and len(name) == DIGITS), default=0)

    def _before_backlog(self) -> int:
        return self._taken + HEADER_SIZE * (len(self._segments) - 1) if self._segments else 0

    def _writable(self, size: int) -> Segment:
        """The segment to append to; a new one when there is none, or it is full or old."""
        active, limits = self._active, self.limits
        if active is not None and (
            (active.end + size > limits.segment_bytes and active.end > HEADER_SIZE)
            or time.monotonic() - active.opened > limits.max_age
        ):
            active = None
        if active is None:
            active = Segment.make(self.directory, self._next, self._disk)
            self._next += 1
            with self._changed:
                if not self._segments:
                    self._taken = HEADER_SIZE
                self._segments.append(active)
                self._active = active
                self._bytes += active.end
        return active

    def _abandon(self) -> None:
        """After a failed write or sync its file is not written again: what the system kept is not known."""
        with self._changed:
            active, self._active = self._active, None
            if active is not None:
                try:
                    active.cut()
                except OSError:
                    _log.warning("%s: could not cut what failed to be written", active.path)
            self._changed.notify_all()

    def _advance(self, segment: Segment, end: int) -> None:
        with self._changed:
            self._taken = end
        try:
            self._stored.write(Position(segment.header.number, segment.header.seed, end))
        except OSError as error:
            _log.warning("%s: cannot note how far the store is: %s", self.directory, error.strerror)
        if segment is not self._active and end >= segment.end:
            self._finish(segment)

    def _finish(self, segment: Segment) -> None:
        """The store has all of a segment that is not written any more."""
        with self._changed:
            if not self._segments or self._segments[0] is not segment:
                return
            self._segments.popleft()
            self._taken = HEADER_SIZE
            self._bytes -= segment.end
        if segment.damages:
            aside = segment.set_aside()
            for damage in segment.damages:
                self._report(damage, aside)
        else:
            segment.remove()

    def _note(self, segment: Segment, found: Sequence[Record | Unreadable]) -> None:
        for item in found:
            if isinstance(item, Unreadable):
                damage = Damage(segment.path, item.start, item.end - item.start, item.problem)
                if damage not in segment.damages:
                    segment.damages.append(damage)

    def _report(self, damage: Damage, aside: Path) -> None:
        self.damages.append(damage)
        _log.error("%s; the rest of it was replayed; the file is kept as %s", damage, aside)


def _failure(directory: Path, error: OSError) -> DiskFull | JournalFailed:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull("no room is left where the journal lies; send this export again later")
    return JournalFailed(f"cannot write the journal in {directory}: {error.strerror or error}")
