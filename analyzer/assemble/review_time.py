"""When, and how far back, requests are judged again for what only time can tell."""

import math
import time
from collections.abc import Callable

REVIEW_S = 6 * 3600
"""How far back (seconds) requests are judged again while nothing new arrives."""

RECENT_S = 15 * 60
"""How far back (seconds) while more arrives: what fell due lately, at a cost that the load sets."""

REVIEW_EVERY_S = 5.0
"""How often (seconds, at most) requests are judged again."""

SHARE = 0.05
"""The part of the time that judging again may take."""

WATCHED_S = 10 * 60
"""How long (seconds) after the last arrival something may fall due: the longest lease known is 480 s."""


class ReviewTime:
    """Says when the next review is due. Not thread-safe: the assembler's step lock guards it."""

    def __init__(self, every_s: float = REVIEW_EVERY_S, clock: Callable[[], float] = time.monotonic):
        """clock: seconds that only grow."""
        self._every_s = every_s
        self._clock = clock
        self._oldest: int | None = None
        self._arrived = -math.inf
        self._ended = -math.inf
        self._took = 0.0

    def arrived(self, oldest: int) -> None:
        """Requests arrived that reach back to `oldest` (Unix seconds)."""
        self._oldest = oldest if self._oldest is None else min(oldest, self._oldest)
        self._arrived = self._clock()

    def due(self) -> bool:
        """Whether it is time: something arrived lately, and the last review left enough time to the rest."""
        now = self._clock()
        pause = max(self._every_s, self._took / SHARE)
        return now - self._arrived <= WATCHED_S and now - self._ended > pause

    def since(self, now: float, busy: bool) -> int:
        """From when on (Unix seconds) to look: imported requests may be older than the usual."""
        usual = int(now) - (RECENT_S if busy else REVIEW_S)
        return usual if self._oldest is None else min(usual, self._oldest)

    def done(self, began: float) -> None:
        """A review that began at `began` (seconds of the clock) is over."""
        self._ended = self._clock()
        self._took = self._ended - began
        self._oldest = None
