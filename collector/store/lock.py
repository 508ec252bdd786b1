"""One process per embedded store: who holds a data directory, in words."""

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path

from collector.errors import StoreBusy, StoreError


class DirectoryLock:
    """Holds `<directory>/pdscope.lock` until released or the process ends (also by kill -9).

    Raises StoreBusy naming the process that holds it, StoreError when the directory cannot be written.
    """

    def __init__(self, directory: Path):
        self._path = directory / "pdscope.lock"
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _not_writable(directory, error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file, 4096, 0).decode("utf-8", "replace")
            os.close(self._file)
            raise StoreBusy(
                f"{directory} is in use by {_describe(holder)}; stop it, or give --data another directory"
            ) from error
        try:
            self.describe()
        except StoreError:
            self.release()
            raise

    def describe(self, api: str | None = None) -> None:
        """Write who holds the directory, and the REST address that other commands may talk to.

        Raises StoreError when it cannot be written.
        """
        record = {"pid": os.getpid(), "since": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "api": api}
        data = json.dumps(record).encode()
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, data, 0)
        except OSError as error:
            raise _not_writable(self._path.parent, error) from error

    def release(self) -> None:
        """Let go; safe to call twice."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = -1


def running_api(directory: Path) -> str | None:
    """REST address of the pdscope that holds `directory` now, or None when none runs (or it does not say).

    Raises StoreError when the directory cannot be read.
    """
    try:
        file = (directory / "pdscope.lock").open()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(
            f"cannot read the data directory {directory}: {error.strerror}; "
            "give --data one this user may read, or --api the address of the pdscope that holds it"
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            with contextlib.suppress(ValueError):
                api = json.loads(file.read() or "{}").get("api")
                return str(api) if api else None
    return None


def _not_writable(directory: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write the data directory {directory}: {error.strerror}; "
        "give --data a directory this user may write, on a disk with space"
    )


def _describe(holder: str) -> str:
    try:
        record = json.loads(holder)
        api = f", REST at {record['api']}" if record.get("api") else ""
        return f"pdscope process {record['pid']} (since {record['since']}{api})"
    except (ValueError, KeyError, TypeError):
        return "another process"
