"""Pure parts of the live proof: the harness's own lag, and whether what pdscope says is what clients saw."""

import bisect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

MS = 1_000_000


def quantile(values: Iterable[float], share: float) -> float:
    """Nearest-rank quantile. ValueError without values."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("a quantile of nothing")
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@dataclass
class Lag:
    """How late the harness's event loop woke up: instants (Unix ns, ascending) and lateness (ns)."""

    at_ns: list[int] = field(default_factory=list)
    late_ns: list[int] = field(default_factory=list)

    def note(self, woke_ns: int, late_ns: int) -> None:
        """The loop woke at `woke_ns`, `late_ns` later than it had asked for."""
        self.at_ns.append(woke_ns)
        self.late_ns.append(max(0, late_ns))

    def around(self, instant_ns: int) -> int:
        """Lateness of the first wake-up at or after an instant: the loop may have been stuck at it."""
        place = bisect.bisect_left(self.at_ns, instant_ns)
        return self.late_ns[place] if place < len(self.late_ns) else 0

    def of(self, *instants_ns: int) -> int:
        """Lateness that a duration between these instants may hold."""
        return sum(self.around(instant) for instant in instants_ns)


@dataclass(frozen=True)
class Agreement:
    """How far pdscope's TTFT lies from the clients', in ms, beside the harness's own lag at the time."""

    requests: int
    median_ms: float
    p95_ms: float
    lag_median_ms: float
    lag_p95_ms: float

    def faults(self, median_ms: float, p95_ms: float) -> list[str]:
        """Bounds that do not hold; says when the harness's own lag is as large as what is over."""
        found = []
        for name, value, bound, lag in (
            ("median", self.median_ms, median_ms, self.lag_median_ms),
            ("p95", self.p95_ms, p95_ms, self.lag_p95_ms),
        ):
            if value > bound:
                why = (
                    "NOT JUDGED, the harness lagged" if value - lag <= bound else "the harness did not lag so"
                )
                found.append(f"TTFT {name} off by {value:.1f} ms (bound {bound:g}); {why}: {lag:.1f} ms")
        return found

    @property
    def line(self) -> str:
        """One line for a report."""
        return (
            f"{self.requests} requests; |TTFT - client's| median {self.median_ms:.2f} ms, "
            f"p95 {self.p95_ms:.2f} ms; the harness's own lag median {self.lag_median_ms:.2f} ms, "
            f"p95 {self.lag_p95_ms:.2f} ms"
        )


def agreement(pairs: Sequence[tuple[float, float, int]]) -> Agreement:
    """Of (pdscope's TTFT in s, the client's in s, harness lag in ns) of each request."""
    errors = [abs(ours - theirs) * 1e3 for ours, theirs, _ in pairs]
    lags = [lag / MS for _, _, lag in pairs]
    return Agreement(
        len(pairs), quantile(errors, 0.5), quantile(errors, 0.95), quantile(lags, 0.5), quantile(lags, 0.95)
    )
