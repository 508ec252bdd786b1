"""How fast one source may go: a bucket per source, refilled as time passes."""

import time
from collections import OrderedDict
from collections.abc import Callable

_MOST_SOURCES = 10_000
_BURST_S = 5.0


class SourceRates:
    """Counts what each source (a tenant, a token, else an address) spends; each may save up five seconds'
    worth.
    """

    def __init__(self, per_s: int | None, clock: Callable[[], float] = time.monotonic):
        """per_s: None lets everyone go as fast as they can."""
        self._rate = per_s
        self._clock = clock
        self._sources: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, source: str, amount: int) -> bool:
        """Count `amount` for `source`; False, and nothing counted, when it has spent too much of late."""
        if self._rate is None:
            return True
        now = self._clock()
        most = self._rate * _BURST_S
        left, at = self._sources.pop(source, (most, now))
        left = min(most, left + max(now - at, 0) * self._rate)
        may = left > 0
        # One amount may overdraw: then the source waits until it is made up.
        self._sources[source] = (left - amount if may else left, now)
        if len(self._sources) > _MOST_SOURCES:
            self._sources.popitem(last=False)
        return may
