"""How fast one source may send: a bucket of bytes per source, refilled as time passes."""

import time
from collections import OrderedDict
from collections.abc import Callable

from collector.receive.errors import TooFast

_MOST_SOURCES = 10_000
_BURST_S = 5.0


class SourceRates:
    """Counts bytes per source (a tenant, else an address); each may save up five seconds' worth."""

    def __init__(self, bytes_per_s: int | None, clock: Callable[[], float] = time.monotonic):
        """bytes_per_s: None lets everyone send as fast as they can."""
        self._rate = bytes_per_s
        self._clock = clock
        self._sources: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, source: str, size: int) -> None:
        """Count `size` bytes of `source`. Raises TooFast when it has sent too many of late."""
        if self._rate is None:
            return
        now = self._clock()
        most = self._rate * _BURST_S
        left, at = self._sources.pop(source, (most, now))
        left = min(most, left + max(now - at, 0) * self._rate)
        if left <= 0:
            self._sources[source] = (left, now)
            raise TooFast(
                f"this source sent more than {self._rate:,} bytes a second (otlp_source_bytes_per_s); "
                "send this export again later"
            )
        # One export may overdraw: then the source waits until it is made up.
        self._sources[source] = (left - size, now)
        if len(self._sources) > _MOST_SOURCES:
            self._sources.popitem(last=False)
