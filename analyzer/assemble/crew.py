"""Several analyzers on one store: who is there, who names requests, and whose requests are whose to rebuild.

Nobody elects anyone: each analyzer says every few seconds that it lives, reads who else does, and works the
same division out of the same list. Where two lists differ for a moment, work is done twice, which versions of
rows make harmless.
"""

import logging
import threading
import time
import uuid
from dataclasses import dataclass

from collector.errors import CollectorError
from collector.sql import read_sql
from collector.store import Store

log = logging.getLogger(__name__)

SHARES = 64
"""Parts into which requests fall, by a hash of their key; each is one analyzer's to rebuild."""
BEAT_S = 2.0
"""How often (seconds) an analyzer says that it lives."""
SILENT_S = 10
"""After so many seconds of silence an analyzer's work is taken over."""
FENCE_S = 6.0
"""An analyzer that could not say so for so many seconds stops working: others may be about to take over."""


@dataclass(frozen=True)
class Duty:
    """What one analyzer does now."""

    names: bool = False
    """Reads new spans and decides which request each belongs to: one analyzer at a time."""
    shares: tuple[int, ...] = ()
    """Shares of requests it rebuilds."""


class Crew:
    """One analyzer's place among those that share a store. start() beats on a thread of its own."""

    def __init__(self, store: Store):
        self.name = uuid.uuid4().hex[:12]
        self._store = store
        self._present: tuple[str, ...] = ()
        self._first_beat = 0.0
        self._last_beat = -1e9
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Join."""
        self._beat()
        self._thread = threading.Thread(target=self._run, name="crew", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave, so that the others take over at once."""
        self._stop.set()
        if self._thread:
            self._thread.join()
            self._say(gone=1)
            self._thread = None

    def duty(self) -> Duty:
        """What to do now. Nothing before everyone who joined at the same time can be seen."""
        now = time.monotonic()
        here = self._present
        alone_yet = now - self._first_beat < 1.5 * BEAT_S
        if alone_yet or now - self._last_beat > FENCE_S or self.name not in here:
            return Duty()
        place = here.index(self.name)
        return Duty(place == 0, tuple(range(place, SHARES, len(here))))

    @property
    def present(self) -> tuple[str, ...]:
        """Names of the analyzers that were last heard of, the first to join first."""
        return self._present

    def _run(self) -> None:
        while not self._stop.wait(BEAT_S):
            try:
                self._beat()
            except CollectorError as error:
                log.error("cannot tell the other analyzers that this one lives: %s", error)

    def _beat(self) -> None:
        began = time.monotonic()
        self._say(gone=0)
        rows = self._store.query(read_sql(__file__, "sql/crew_present"), {"silent_s": SILENT_S})
        if began - self._last_beat > FENCE_S:
            # Others may have taken over: look who they are before working again, as one who joins does.
            self._first_beat = time.monotonic()
        self._present = tuple(str(row[0]) for row in rows)
        self._last_beat = began

    def _say(self, gone: int) -> None:
        said = {"name": self.name, "gone": gone, "silent_s": SILENT_S}
        self._store.command(read_sql(__file__, "sql/crew_beat"), said)
