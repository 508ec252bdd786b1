"""How much memory this process has in use, asked for rarely."""

import os
import time

_EVERY_S = 0.25
_PAGE = os.sysconf("SC_PAGE_SIZE")


class MemoryWatch:
    """Resident memory; looks at most four times a second, and never without a limit."""

    def __init__(self, limit: int | None):
        self._limit = limit
        self._used = 0
        self._looked = -_EVERY_S

    def used(self) -> int:
        """Bytes resident; 0 without a limit, or where the system does not say."""
        now = time.monotonic()
        if self._limit and now - self._looked >= _EVERY_S:
            self._looked = now
            try:
                with open("/proc/self/statm", "rb") as file:
                    self._used = int(file.read().split()[1]) * _PAGE
            except OSError:
                self._used = 0
        return self._used
