"""Traces, and parts of such, with at most one request span, grouped into requests."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analyzer.assemble.identity import Span

CLOCKS_NS = 1_000_000_000
"""How far (nanoseconds) clocks of a tap and the router behind it may differ."""


@dataclass(frozen=True)
class Part:
    """What one tenant has of a trace under which others send as well."""

    trace_id: bytes
    first_bucket: int
    """Under which the trace is on record."""


class Legs:
    """A union of sets, each with a leader. A leg is a trace, or a part of one that has a key of its own."""

    def __init__(self, traces: "Mapping[bytes, Sequence[Span]]", parts: Mapping[bytes, Part]):
        self.traces = traces
        self.parts = parts
        self.rooted = {leg: any(span.root for span in spans) for leg, spans in traces.items()}
        self.rule = dict.fromkeys(traces, "trace_id")
        self.own = {leg: max(span.tenant for span in spans) for leg, spans in traces.items()}
        """Whose each leg is; empty: nobody says."""
        self._tenant = dict(self.own)
        self._parent = {leg: leg for leg in traces}
        self.carriers: dict[str, list[bytes]] = defaultdict(list)
        for leg, spans in traces.items():
            for name in sorted({name for span in spans for name in span.ids}):
                self.carriers[name].append(leg)

    def leader(self, leg: bytes) -> bytes:
        """Who stands for the group of a leg."""
        while self._parent[leg] != leg:
            leg = self._parent[leg]
        return leg

    def tenant_of(self, leg: bytes) -> str:
        """Whose the group of a leg is."""
        return self._tenant[self.leader(leg)]

    def may_join(self, leg: bytes, other: bytes, crowded: bool) -> bool:
        """Whether two may be of one request. crowded: several tenants use the name they share, so that whose
        the legs are that name no tenant cannot be told.
        """
        one, two = self.tenant_of(leg), self.tenant_of(other)
        return one == two or (not crowded and "" in (one, two))

    def outside(self, leg: bytes) -> bool:
        """Whether its request span was told where the client is served."""
        return any(span.root and span.outside for span in self.traces[leg])

    def meet(self, leg: bytes, other: bytes) -> bool:
        """Whether the request span of one leg began while that of the other ran, give or take a second."""
        starts = [span.start_ns for span in self.traces[leg] if span.root]
        return any(
            span.start_ns - CLOCKS_NS <= start <= span.end_ns + CLOCKS_NS
            for span in self.traces[other]
            for start in starts
            if span.root
        )

    def unite(self, leg: bytes, target: bytes) -> None:
        """Put the group of `leg` into that of `target`."""
        one, other = self.leader(target), self.leader(leg)
        if one == other:
            return
        self._parent[other] = one
        self.rooted[one] = self.rooted[one] or self.rooted[other]
        self._tenant[one] = self._tenant[one] or self._tenant[other]
        self.rule[leg] = self.rule[target] = "request_id"

    def adopt(self, leg: bytes, rooted: bool, tenant: str) -> None:
        """The group of `leg` is part of a request that is not before us."""
        one = self.leader(leg)
        self.rooted[one] = self.rooted[one] or rooted
        self._tenant[one] = self._tenant[one] or tenant
        self.rule[leg] = "request_id"

    def groups(self) -> Iterable[list[bytes]]:
        """The legs of each request."""
        found: dict[bytes, list[bytes]] = defaultdict(list)
        for leg in self.traces:
            found[self.leader(leg)].append(leg)
        return found.values()
