"""The few system calls the journal rests on, in one place, so that a failing disk can be tried out."""

import os
from collections.abc import Sequence

_MOST_BUFFERS = 512
"""Buffers one writev takes; Linux allows 1,024."""


class Disk:
    """Calls the system. Tests replace single calls by ones that fail as a disk does."""

    def write(self, file: int, buffers: Sequence[bytes]) -> None:
        """Write all of `buffers` at the end of `file`. Raises OSError; some may then be written."""
        for first in range(0, len(buffers), _MOST_BUFFERS):
            some = buffers[first : first + _MOST_BUFFERS]
            size = sum(map(len, some))
            written = os.writev(file, some)
            if written < size:
                self._rest(file, memoryview(b"".join(some))[written:])

    def sync(self, file: int) -> None:
        """Return when what was written to `file` survives a power cut. Raises OSError."""
        os.fdatasync(file)

    def sync_directory(self, path: str | os.PathLike[str]) -> None:
        """Return when files made in a directory survive a power cut. Raises OSError."""
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def free_bytes(self, path: str | os.PathLike[str]) -> int:
        """Bytes this user may still write on the disk that holds `path`."""
        room = os.statvfs(path)
        return room.f_bavail * room.f_frsize

    def _rest(self, file: int, data: memoryview) -> None:
        while data:
            data = data[os.write(file, data) :]
