"""Which minutes have to be counted again, five at a time."""

import time
from collections.abc import Iterable

from collector.sql import read_sql
from collector.store import Store

BLOCK_S = 300
"""Minutes are counted five at a time: what a verdict reads around a window is read once for all of them."""
AROUND_S = 900
"""A verdict looks at this many seconds before its window, so a change touches the verdicts that follow."""
SETTLES_S = 30.0
"""Gauges of a minute may come so much later than its spans: a block is counted once more after that."""
NEWEST = 4
LONGEST = 4
"""Blocks of one turn: the newest, which live traffic changes all the time, and those waiting longest."""
FAR_S = 3600
"""A request first seen so far from its start has a wrong clock: what lies between is not touched."""


class Due:
    """The blocks (Unix seconds of their start) that changed and are not counted yet.

    What is due follows from the store alone, so that a restart neither loses nor repeats much.
    """

    def __init__(self, store: Store, upto: int):
        """upto: the ingest sequence up to which every minute is known to be counted."""
        self._store = store
        self._after = upto
        self._last: frozenset[tuple[int, ...]] = frozenset()
        self._due: dict[int, None] = {}
        self._again: dict[int, float] = {}
        self._first = True

    def __bool__(self) -> bool:
        return bool(self._due)

    def look(self, upto: int) -> None:
        """Add what changed up to an ingest sequence. Raises StoreError."""
        asked = {"after": self._after, "upto": upto}
        rows = [tuple(map(int, row)) for row in self._store.query(read_sql(__file__, "sql/changed"), asked)]
        # The newest sequence is asked for again the next time.
        changed = self._not_counted(rows) if self._first else [r for r in rows if r not in self._last]
        self._add(changed)
        self._after, self._last = upto, frozenset(row for row in rows if row[2] == upto)
        self._first = False
        now = time.monotonic()
        for block in [block for block, at in self._again.items() if at <= now]:
            del self._again[block]
            self._due.setdefault(block)

    def take(self) -> list[int]:
        """Take the blocks of one turn: the newest, then those that waited longest."""
        taken = sorted(self._due, reverse=True)[:NEWEST]
        for block in taken:
            del self._due[block]
        longest = list(self._due)[:LONGEST]
        for block in longest:
            del self._due[block]
        return taken + longest

    def failed(self, blocks: Iterable[int]) -> None:
        """Give blocks back that could not be counted."""
        self._due |= dict.fromkeys(blocks)

    def _not_counted(self, rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Leave out what was counted before the process started."""
        if not rows:
            return []
        upto = self._counted(min(row[0] for row in rows), max(row[1] for row in rows) + 60)
        return [row for row in rows if any(upto.get(at, 0) <= row[2] for at in row[:2])]

    def _counted(self, from_s: int, to_s: int) -> dict[int, int]:
        window = {"from_s": from_s, "to_s": to_s}
        return {
            int(at): int(upto) for at, upto in self._store.query(read_sql(__file__, "sql/counted"), window)
        }

    def _add(self, changed: list[tuple[int, ...]]) -> None:
        newest: dict[int, int] = {}
        for since, until, version, *_ in changed:
            for block in _blocks(since, until):
                newest[block] = max(version, newest.get(block, 0))
        if not newest:
            return
        again = time.monotonic() + SETTLES_S
        for block in sorted(newest.keys() | self._judged_beside(newest), reverse=True):
            self._due.setdefault(block)
            if not self._first:
                self._again[block] = again

    def _judged_beside(self, newest: dict[int, int]) -> set[int]:
        """Blocks whose verdicts looked at changed ones as they were before."""
        upto: dict[int, int] = {}
        for minute, sequence in self._counted(min(newest), max(newest) + AROUND_S + BLOCK_S).items():
            block = minute // BLOCK_S * BLOCK_S
            upto[block] = min(sequence, upto.get(block, sequence))
        return {
            later
            for block, version in newest.items()
            for later in range(block + BLOCK_S, block + AROUND_S + 1, BLOCK_S)
            if upto.get(later, version) < version
        }


def _blocks(since: int, until: int) -> Iterable[int]:
    first, last = since // BLOCK_S * BLOCK_S, until // BLOCK_S * BLOCK_S
    return (first, last) if last - first > FAR_S else range(first, last + 1, BLOCK_S)
