"""The audit log: who changed what is stored, and who was turned away. JSON lines, readable by their owner."""

import json
import logging
import logging.handlers
import os
import threading
import time
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path

log = logging.getLogger(__name__)

_FILE_BYTES = 10 << 20
_OLD_FILES = 4
_REFUSALS_PER_S = 10


class AuditLog:
    """Appends to a file of at most 10 MB, keeping four older ones."""

    def __init__(self, path: Path):
        self._path = path
        self._lock = threading.Lock()
        self._second, self._refusals, self._left_out = 0, 0, 0

    def record(self, caller: str, source: str, method: str, path: str, status: int) -> None:
        """Note one call. Refusals beyond ten a second are counted in the next line that is written."""
        with self._lock:
            if status in (401, 403) and not self._room():
                self._left_out += 1
                return
            entry: dict[str, object] = {
                "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "caller": caller,
                "source": source,
                "method": method,
                "path": path[:512],
                "status": status,
            }
            if self._left_out:
                entry["refusals_left_out"] = self._left_out
                self._left_out = 0
            try:
                self._write(json.dumps(entry))
            except OSError as error:
                # The call is answered all the same: a full disk must not let nobody in, nor everybody.
                log.error("%s cannot be written: %s; not noted: %s", self._path, error.strerror, entry)

    def _room(self) -> bool:
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._refusals = second, 0
        self._refusals += 1
        return self._refusals <= _REFUSALS_PER_S

    def _write(self, line: str) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = _OwnersFile(self._path, maxBytes=_FILE_BYTES, backupCount=_OLD_FILES, encoding="utf-8")
        try:
            file.emit(logging.LogRecord("audit", logging.INFO, "", 0, line, None, None))
        finally:
            file.close()


class _OwnersFile(logging.handlers.RotatingFileHandler):
    """A rotating file of mode 0600."""

    def _open(self) -> TextIOWrapper:
        number = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return open(number, "a", encoding=self.encoding)
