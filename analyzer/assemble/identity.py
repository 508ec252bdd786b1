"""Which request each trace, and in shared traces each span, belongs to: the decisions that need thought.

Most traces are one request and are named in SQL. This module decides the rest: traces that hold several
requests,
and names that several traces share. It is a pure function of plain values; the store is read and written
elsewhere.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

SLACK_NS = 600 * 1_000_000_000
"""How far apart (nanoseconds) two legs without a request span may lie and still be taken for one request."""


@dataclass(frozen=True)
class Span:
    """A span of a trace that needs a decision. Times are Unix nanoseconds, ids raw bytes."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    resource_id: int
    start_ns: int
    end_ns: int
    root: bool = False
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Known:
    """What is on record: the key a trace or a name stands for."""

    key: bytes
    first_bucket: int


@dataclass
class Decisions:
    """What to write down. Keys are 16 bytes, buckets Unix seconds of a minute."""

    traces: dict[bytes, tuple[bytes, int, str]] = field(default_factory=dict)
    """Trace id → (request key, first bucket, rule)."""
    names: dict[str, tuple[bytes, int, bytes]] = field(default_factory=dict)
    """Request id → (request key, first bucket, the trace that brought it)."""
    owners: dict[tuple[bytes, bytes, int], bytes] = field(default_factory=dict)
    """(trace, span, resource) → request key, for traces that hold several requests; empty bytes: unjoined."""
    further: set[tuple[bytes, bytes, int]] = field(default_factory=set)
    """(request key, trace id, first bucket) for requests with more than one trace, or keys that are not
    their trace's id.
    """
    merged: set[tuple[bytes, int]] = field(default_factory=set)
    """Keys (with their first bucket) that turned out to be another request."""


def decide(
    spans: Iterable[Span],
    traces: Mapping[bytes, Known],
    names: Mapping[str, Known],
    rooted: Mapping[bytes, bool],
) -> Decisions:
    """Decide the request of every trace in `spans` (all spans of each such trace, from the start).

    traces, names: what is already on record for them. rooted: for keys on record, whether that request has
    its
    request span. Order of arrival does not change which spans end up together, only which key names them.
    """
    by_trace: dict[bytes, list[Span]] = defaultdict(list)
    for span in spans:
        by_trace[span.trace_id].append(span)
    decisions = Decisions()
    single: dict[bytes, list[Span]] = {}
    for trace_id, members in sorted(
        by_trace.items(), key=lambda item: (min(s.start_ns for s in item[1]), item[0])
    ):
        roots, inner = _outermost(members)
        if len(roots) > 1:
            _split(trace_id, members, roots, inner, traces.get(trace_id), decisions)
        else:
            single[trace_id] = members
    _join(single, traces, names, rooted, decisions)
    return decisions


def _roots(members: Sequence[Span]) -> list[Span]:
    unique = {(span.span_id, span.resource_id): span for span in members if span.root}
    return sorted(unique.values(), key=lambda span: (span.start_ns, span.span_id))


def _outermost(members: Sequence[Span]) -> tuple[list[Span], list[tuple[Span, Span]]]:
    """Request spans that stand for a request of their own, and the others, each with the one around it.

    A proxy before a router gives one request two such spans, one within the other. The inner one is taken for
    the same request when both name it alike, or when it is the only one within: a caller that asks several
    times within its own request makes several.
    """
    roots = _roots(members)
    if len(roots) < 2:
        return roots, []
    parents = {span.span_id: span.parent_id for span in members}
    of_span = {root.span_id: root for root in roots}
    around = {
        root.span_id: of_span[outer_id]
        for root in roots
        if (outer_id := _enclosing(root.parent_id, parents, of_span)) and outer_id != root.span_id
    }
    within = Counter(outer.span_id for outer in around.values())
    inner = [
        (root, outer)
        for root in roots
        if (outer := around.get(root.span_id))
        and (within[outer.span_id] == 1 or set(root.ids) & set(outer.ids))
    ]
    same = {root.span_id for root, _ in inner}
    outermost = [root for root in roots if root.span_id not in same]
    return (outermost, inner) if outermost else (roots, [])


def _split(
    trace_id: bytes,
    members: Sequence[Span],
    roots: list[Span],
    inner: list[tuple[Span, Span]],
    known: Known | None,
    out: Decisions,
) -> None:
    """One trace, several requests: by request id, else by the chain of parents, else by time when only
    one fits.
    """
    bucket = known.first_bucket if known else _minute(min(span.start_ns for span in members))
    keys = {(root.span_id, root.resource_id): split_key(trace_id, root.span_id) for root in roots}
    by_id = {name: keys[root.span_id, root.resource_id] for root in roots for name in root.ids}
    parents = {span.span_id: span.parent_id for span in members}
    root_ids = {root.span_id: keys[root.span_id, root.resource_id] for root in roots}
    for span, _ in inner:
        outer = _enclosing(span.span_id, parents, root_ids)
        by_id |= {name: root_ids[outer] for name in span.ids if outer and name not in by_id}
    for span in members:
        key = next((by_id[name] for name in span.ids if name in by_id), b"")
        if not key and not span.ids:
            key = root_ids.get(_enclosing(span.span_id, parents, root_ids), b"")
        if not key:
            fitting = [root for root in roots if root.start_ns <= span.start_ns <= root.end_ns]
            key = keys[fitting[0].span_id, fitting[0].resource_id] if len(fitting) == 1 else b""
        out.owners[trace_id, span.span_id, span.resource_id] = key
    out.traces[trace_id] = (trace_id, bucket, "shared_trace")
    if known and known.key == trace_id:
        out.merged.add((known.key, known.first_bucket))
    for root in roots:
        key = keys[root.span_id, root.resource_id]
        out.further.add((key, trace_id, bucket))
        for name in root.ids:
            out.names.setdefault(name, (key, bucket, trace_id))


def _enclosing(at: bytes, parents: Mapping[bytes, bytes], wanted: Container[bytes]) -> bytes:
    """The first of the wanted spans on the chain of parents that begins at span `at`; empty without one."""
    seen: set[bytes] = set()
    while at and at not in seen:
        if at in wanted:
            return at
        seen.add(at)
        at = parents.get(at, b"")
    return b""


class _Legs:
    """Traces with at most one request span, grouped into requests (a union of sets, each with a leader)."""

    def __init__(self, traces: Mapping[bytes, list[Span]]):
        self.traces = traces
        self.rooted = {trace: any(span.root for span in spans) for trace, spans in traces.items()}
        self.rule = dict.fromkeys(traces, "trace_id")
        self._parent = {trace: trace for trace in traces}
        self.carriers: dict[str, list[bytes]] = defaultdict(list)
        for trace, spans in traces.items():
            for name in sorted({name for span in spans for name in span.ids}):
                self.carriers[name].append(trace)

    def leader(self, trace: bytes) -> bytes:
        while self._parent[trace] != trace:
            trace = self._parent[trace]
        return trace

    def unite(self, trace: bytes, target: bytes) -> None:
        one, other = self.leader(target), self.leader(trace)
        if one == other:
            return
        self._parent[other] = one
        self.rooted[one] = self.rooted[one] or self.rooted[other]
        self.rule[trace] = self.rule[target] = "request_id"

    def groups(self) -> Iterable[list[bytes]]:
        found: dict[bytes, list[bytes]] = defaultdict(list)
        for trace in self.traces:
            found[self.leader(trace)].append(trace)
        return found.values()


def _join(
    single: Mapping[bytes, list[Span]],
    traces: Mapping[bytes, Known],
    names: Mapping[str, Known],
    rooted: Mapping[bytes, bool],
    out: Decisions,
) -> None:
    """Traces with one request span or none: those that share an id are one request, unless ids collide."""
    legs = _Legs(single)
    for _, members in sorted(legs.carriers.items()):
        homes = sorted({legs.leader(trace) for trace in members if legs.rooted[legs.leader(trace)]})
        for trace in members:
            if legs.rooted[legs.leader(trace)]:
                continue
            target = _home(trace, homes, members, single)
            if target is not None:
                legs.unite(trace, target)
    split = {name: Known(key, bucket) for name, (key, bucket, _) in out.names.items()}
    adopted = _adopted(
        legs, {**names, **split}, {**rooted, **dict.fromkeys((k.key for k in split.values()), True)}
    )
    for members in legs.groups():
        chosen = adopted.get(legs.leader(members[0])) or _key(members, single, traces)
        for trace in members:
            out.traces[trace] = (chosen.key, chosen.first_bucket, legs.rule[trace])
            if len(members) > 1 or chosen.key != trace:
                out.further.add((chosen.key, trace, chosen.first_bucket))
                out.further.add((chosen.key, chosen.key, chosen.first_bucket))
            for name in (name for span in single[trace] for name in span.ids):
                out.names.setdefault(name, (chosen.key, chosen.first_bucket, trace))
    kept = {key for key, _, _ in out.traces.values()}
    out.merged |= {
        (old.key, old.first_bucket) for trace in single if (old := traces.get(trace)) and old.key not in kept
    }


def _key(
    members: Sequence[bytes], single: Mapping[bytes, list[Span]], traces: Mapping[bytes, Known]
) -> Known:
    """The key of a group: the oldest on record, but none that names a trace of another group."""
    recorded = [
        traces[trace]
        for trace in members
        if trace in traces and (traces[trace].key in members or traces[trace].key not in single)
    ]
    if recorded:
        return min(recorded, key=lambda known: (known.first_bucket, known.key))
    return Known(members[0], _minute(min(span.start_ns for span in single[members[0]])))


def _adopted(legs: _Legs, names: Mapping[str, Known], rooted: Mapping[bytes, bool]) -> dict[bytes, Known]:
    """Keys that groups (by leader) take from requests whose traces are not before us, or are shared."""
    adopted: dict[bytes, Known] = {}
    for name, members in sorted(legs.carriers.items()):
        known = names.get(name)
        if known is None or known.key in legs.traces:
            continue
        for trace in members:
            one = legs.leader(trace)
            recorded_root = rooted.get(known.key, False)
            if one in adopted or (legs.rooted[one] and recorded_root):
                continue
            adopted[one] = known
            legs.rooted[one] = legs.rooted[one] or recorded_root
            legs.rule[trace] = "request_id"
    return adopted


def _home(
    trace_id: bytes, rooted: Sequence[bytes], members: Sequence[bytes], single: Mapping[bytes, list[Span]]
) -> bytes | None:
    """The trace that a leg without a request span belongs to, or None when that cannot be told."""
    start = min(span.start_ns for span in single[trace_id])
    if len(rooted) == 1:
        return rooted[0]
    if rooted:
        around = [
            other
            for other in rooted
            if any(span.root and span.start_ns <= start <= span.end_ns for span in single[other])
        ]
        return around[0] if len(around) == 1 else None
    first = min(members, key=lambda other: (min(span.start_ns for span in single[other]), other))
    near = start - max(span.end_ns for span in single[first]) <= SLACK_NS
    return first if first != trace_id and near else None


def split_key(trace_id: bytes, root_span_id: bytes) -> bytes:
    """Key (16 bytes) of one of several requests in a trace; the same whatever the order of arrival."""
    return hashlib.blake2b(trace_id + root_span_id, digest_size=16).digest()


def _minute(ns: int) -> int:
    return ns // 60_000_000_000 * 60
