"""Who shares a store: each process says every few seconds that it lives, and reads who else does.

Nobody elects anyone: processes that read the same list work the same division of their work out of it. Where
two lists differ for a moment, work is done twice, which whoever divides it must make harmless.
"""

import logging
import threading
import time
import uuid

from collector.errors import CollectorError
from collector.sql import read_sql
from collector.store.store import Store

log = logging.getLogger(__name__)

BEAT_S = 2.0
"""How often (seconds) a process says that it lives."""
SILENT_S = 10
"""After so many seconds of silence a process's work is taken over."""
FENCE_S = 6.0
"""Others may be about to take over from a process that could not say for so many seconds that it lives."""


class Presence:
    """One process's place among those of a table. start() beats on a thread of its own."""

    def __init__(self, store: Store, table: str, group: str = ""):
        """table: 'analyzers' or 'collectors'. group: only processes of the same group see one another."""
        self.name = group + uuid.uuid4().hex[:12]
        self._store, self._table, self._group = store, table, group
        self._present: tuple[str, ...] = ()
        self._first_beat = 0.0
        self._last_beat = -1e9
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def present(self) -> tuple[str, ...]:
        """Names of those that were last heard of, the first to join first."""
        return self._present

    @property
    def joined_s(self) -> float:
        """Seconds since this process joined, or joined anew after it had been silent."""
        return time.monotonic() - self._first_beat

    @property
    def unheard_s(self) -> float:
        """Seconds since this process could last say that it lives."""
        return time.monotonic() - self._last_beat

    def start(self) -> None:
        """Join. Raises StoreError."""
        self._beat()
        self._thread = threading.Thread(target=self._run, name=f"presence-{self._table}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave, so that the others take over at once. Raises StoreError."""
        self._stop.set()
        if self._thread:
            self._thread.join()
            self._thread = None
            self._say(gone=1)

    def _run(self) -> None:
        while not self._stop.wait(BEAT_S):
            try:
                self._beat()
            except CollectorError as error:
                log.error("cannot tell the other %s that this one lives: %s", self._table, error)

    def _beat(self) -> None:
        began = time.monotonic()
        self._say(gone=0)
        asked = {"table": self._table, "group": self._group, "silent_s": SILENT_S}
        rows = self._store.query(read_sql(__file__, "presence_read"), asked)
        if began - self._last_beat > FENCE_S:
            # Others may have taken over: look who they are before working again, as one who joins does.
            self._first_beat = time.monotonic()
        self._present = tuple(str(row[0]) for row in rows)
        self._last_beat = began

    def _say(self, gone: int) -> None:
        said = {"table": self._table, "name": self.name, "gone": gone, "silent_s": SILENT_S}
        self._store.command(read_sql(__file__, "presence_beat"), said)
