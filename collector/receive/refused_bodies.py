"""Acknowledged exports that the store cannot read: kept in segments of their own for a person to look at."""

import logging
import time
from pathlib import Path

from collector.journal.disk import Disk
from collector.journal.segment import ASIDE, SUFFIX, Segment

_log = logging.getLogger(__name__)

_MOST_FILES = 200


class RefusedBodies:
    """Writes each to a file that `pdscope journal show` and `replay --file` read."""

    def __init__(self, journal: Path):
        self._directory = journal / ASIDE

    def keep(self, kind: int, body: bytes) -> str:
        """Write one down; returns where it is, or why it is not kept."""
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            if len(list(self._directory.glob(f"*{SUFFIX}"))) >= _MOST_FILES:
                return f"nothing: {self._directory} holds {_MOST_FILES} files already"
            disk = Disk()
            segment = Segment.make(self._directory, time.time_ns(), disk)
            segment.append([(kind, body)], disk)
            segment.close()
        except OSError as error:
            return f"nothing: {error.strerror}"
        return str(segment.path)
