"""How many distinct names requests may carry; what comes on top is stored as `__other__`.

Each name is a group in every answer and a key in every rollup: without a limit one sender that puts an id
where a name belongs makes all of them slow. A name not seen for a day makes room for another.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from analyzer.assemble.scratch import Scratch
from collector.sql import read_sql
from collector.store import Store

AGE_S = 86_400.0


@dataclass(frozen=True)
class NameLimits:
    """Most distinct names of each kind within a day."""

    models: int = 200
    tenants: int = 1_000
    routes: int = 1_000
    workers: int = 10_000


class Names:
    """Knows the names in use, and which of a step's are over the limit."""

    def __init__(
        self, store: Store, scratch: Scratch, limits: NameLimits, clock: Callable[[], float] = time.monotonic
    ):
        """Begin with the names of the last day's requests."""
        self._scratch = scratch
        self._clock = clock
        self._limits = {field.name: getattr(limits, field.name) for field in fields(limits)}
        self._seen: dict[str, dict[str, float]] = {kind: {} for kind in self._limits}
        self._marked = True
        self.over: dict[str, int] = dict.fromkeys(self._limits, 0)
        """Names that were refused so far, by kind; one refused in two steps counts twice."""
        now = clock()
        for kind, name in store.query(read_sql(__file__, "sql/names_known"), {"age": int(AGE_S)}):
            if len(self._seen[kind]) < self._limits[kind]:
                self._seen[kind][name] = now

    def mark(self) -> None:
        """Write down which names of the step's requests are over the limit, for `requests.sql` to read."""
        found = self._scratch.query(read_sql(__file__, "sql/names_found"))
        over = [[kind, name] for kind, name in found if not self._admit(kind, name)]
        if over or self._marked:
            self._scratch.command("TRUNCATE TABLE {scratch:Identifier}.names_over_limit")
        if over:
            self._scratch.insert("names_over_limit", over, ["kind", "name"])
        self._marked = bool(over)

    def _admit(self, kind: str, name: str) -> bool:
        seen, now = self._seen[kind], self._clock()
        if name not in seen and len(seen) >= self._limits[kind]:
            oldest = min(seen, key=seen.__getitem__)
            if now - seen[oldest] <= AGE_S:
                self.over[kind] += 1
                return False
            del seen[oldest]
        seen[name] = now
        return True

    @property
    def known(self) -> Mapping[str, int]:
        """How many names of each kind are in use."""
        return {kind: len(seen) for kind, seen in self._seen.items()}
