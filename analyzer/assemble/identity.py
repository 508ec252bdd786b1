"""Which request each trace, and in shared traces each span, belongs to: the decisions that need thought.

Most traces are one request and are named in SQL. This module decides the rest: traces that hold several
requests, and names that several traces share. What different tenants sent is never joined. It is a pure
function of plain values; the store is read and written elsewhere.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from analyzer.assemble.behind import told_twice
from analyzer.assemble.legs import Legs, Part
from analyzer.assemble.tenants import by_tenant, several

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
    tenant: str = ""
    """Whose it is: its process's tenant, else what it says itself."""
    outside: bool = False
    """Of a request span: told where the client is served, by a tap or a router that speaks the convention."""


@dataclass(frozen=True)
class Known:
    """What is on record: the key a trace or a name stands for."""

    key: bytes
    first_bucket: int
    tenant: str = ""
    """Of a name: whose spans bore it."""


@dataclass
class Decisions:
    """What to write down. Keys are 16 bytes, buckets Unix seconds of a minute."""

    traces: dict[bytes, tuple[bytes, int, str]] = field(default_factory=dict)
    """Trace id → (request key, first bucket, rule)."""
    tenants: dict[bytes, str] = field(default_factory=dict)
    """Trace id → whose it is; without those that hold several requests."""
    names: set[tuple[str, str, bytes, int, bytes]] = field(default_factory=set)
    """(request id, tenant, request key, first bucket, a trace that brought it)."""
    owners: dict[tuple[bytes, bytes, int], bytes] = field(default_factory=dict)
    """(trace, span, resource) → request key, for traces that hold several requests; empty bytes: unjoined."""
    further: set[tuple[bytes, bytes, int]] = field(default_factory=set)
    """(request key, trace id, first bucket) for requests with more than one trace, or keys that are not
    their trace's id.
    """
    merged: set[tuple[bytes, int]] = field(default_factory=set)
    """Keys (with their first bucket) that turned out to be another request."""

    @property
    def pairs(self) -> set[tuple[bytes, bytes]]:
        """Each trace with each request decided on that has spans in it."""
        owned = {(trace, key) for (trace, _, _), key in self.owners.items() if key}
        return owned | {(trace, key) for trace, (key, _, _) in self.traces.items()}


def decide(
    spans: Iterable[Span],
    traces: Mapping[bytes, Known],
    names: Mapping[str, Sequence[Known]],
    rooted: Mapping[bytes, bool],
) -> Decisions:
    """Decide the request of every trace in `spans` (all spans of each such trace, from the start).

    traces, names: what is already on record for them. rooted: for keys on record, whether that request has
    its request span. Order of arrival does not change which spans end up together, only which key names them.
    """
    by_trace: dict[bytes, list[Span]] = defaultdict(list)
    for span in spans:
        by_trace[span.trace_id].append(span)
    decisions = Decisions()
    single: dict[bytes, list[Span]] = {}
    parts: dict[bytes, Part] = {}
    for leg, part, members in _legs(by_trace):
        trace_id = members[0].trace_id
        known = traces.get(trace_id)
        bucket = known.first_bucket if known else _minute(_start(by_trace[trace_id]))
        roots, inner = _outermost(members)
        if part or len(roots) > 1:
            decisions.traces[trace_id] = (trace_id, bucket, "shared_trace")
            decisions.merged |= {(leg, bucket)} if part and len(roots) > 1 else set()
            decisions.merged |= (
                {(known.key, known.first_bucket)} if known and known.key == trace_id else set()
            )
        if len(roots) > 1:
            _split(trace_id, members, roots, inner, bucket, decisions)
        else:
            single[leg] = members
            parts |= {leg: Part(trace_id, bucket)} if part else {}
    _join(single, parts, traces, names, rooted, decisions)
    return decisions


def _legs(by_trace: Mapping[bytes, list[Span]]) -> list[tuple[bytes, bool, list[Span]]]:
    """Key, whether it is only a part, and spans of every trace, or of each tenant's part of one, by start."""
    found = []
    for trace_id, members in by_trace.items():
        of_tenants = by_tenant(members)
        part = len(of_tenants) > 1
        for tenant, spans in of_tenants.items():
            found.append((split_key(trace_id, b"", tenant) if part else trace_id, part, spans))
    return sorted(found, key=lambda leg: (_start(leg[2]), leg[2][0].trace_id, leg[0]))


def _start(members: Iterable[Span]) -> int:
    return min(span.start_ns for span in members)


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
    bucket: int,
    out: Decisions,
) -> None:
    """One trace, several requests: by request id, else by the chain of parents, else by time when only
    one fits.
    """
    keys = {
        (root.span_id, root.resource_id): split_key(trace_id, root.span_id, root.tenant) for root in roots
    }
    borne = Counter(name for root in roots for name in set(root.ids))
    by_id = {
        name: keys[root.span_id, root.resource_id] for root in roots for name in root.ids if borne[name] == 1
    }
    parents = {span.span_id: span.parent_id for span in members}
    root_ids = {root.span_id: keys[root.span_id, root.resource_id] for root in roots}
    for span, _ in inner:
        outer = _enclosing(span.span_id, parents, root_ids)
        by_id |= {
            name: root_ids[outer] for name in span.ids if outer and name not in by_id and not borne[name]
        }
    for span in members:
        key = keys.get((span.span_id, span.resource_id), b"")
        key = key or next((by_id[name] for name in span.ids if name in by_id), b"")
        if not key and not set(span.ids) - borne.keys():
            key = root_ids.get(_enclosing(span.span_id, parents, root_ids), b"")
        if not key:
            fitting = [root for root in roots if root.start_ns <= span.start_ns <= root.end_ns]
            key = keys[fitting[0].span_id, fitting[0].resource_id] if len(fitting) == 1 else b""
        out.owners[trace_id, span.span_id, span.resource_id] = key
    tenant = max(span.tenant for span in members)
    for root in roots:
        key = keys[root.span_id, root.resource_id]
        out.further.add((key, trace_id, bucket))
        out.names |= {(name, tenant, key, bucket, trace_id) for name in root.ids}


def _enclosing(at: bytes, parents: Mapping[bytes, bytes], wanted: Container[bytes]) -> bytes:
    """The first of the wanted spans on the chain of parents that begins at span `at`; empty without one."""
    seen: set[bytes] = set()
    while at and at not in seen:
        if at in wanted:
            return at
        seen.add(at)
        at = parents.get(at, b"")
    return b""


def _join(
    single: Mapping[bytes, list[Span]],
    parts: Mapping[bytes, Part],
    traces: Mapping[bytes, Known],
    names: Mapping[str, Sequence[Known]],
    rooted: Mapping[bytes, bool],
    out: Decisions,
) -> None:
    """Traces, and parts of such, with one request span or none: those that share an id are one request,
    unless ids collide.
    """
    legs = Legs(single, parts)
    for one, other in sorted(told_twice(legs)):
        legs.unite(one, other)
    for _, members in sorted(legs.carriers.items()):
        crowded = several(legs.own[leg] for leg in members)
        homes = sorted({legs.leader(leg) for leg in members if legs.rooted[legs.leader(leg)]})
        for leg in members:
            if legs.rooted[legs.leader(leg)]:
                continue
            near = [other for other in members if legs.may_join(leg, other, crowded)]
            fitting = [
                home for home in homes if legs.may_join(leg, home, crowded and legs.tenant_of(leg) != "")
            ]
            target = _home(leg, fitting, near, single)
            if target is not None:
                legs.unite(leg, target)
    adopted = _adopted(legs, _on_record(names, out), {**rooted, **dict.fromkeys(_split_keys(out), True)})
    kept: dict[bytes, str] = dict.fromkeys(out.traces, "")
    for members in legs.groups():
        leader = legs.leader(members[0])
        chosen = adopted.get(leader) or _key(members, legs, traces)
        if several((kept.get(chosen.key, ""), legs.tenant_of(leader))):
            chosen = Known(members[0], _minute(_start(single[members[0]])))
        kept[chosen.key] = legs.tenant_of(leader) or kept.get(chosen.key, "")
        buckets = {chosen.first_bucket, *(parts[leg].first_bucket for leg in members if leg in parts)}
        for leg in members:
            _name(leg, chosen.key, sorted(buckets), legs, alone=len(members) == 1, out=out)
    out.merged |= {
        (old.key, old.first_bucket) for leg in single if (old := traces.get(leg)) and old.key not in kept
    }


def _name(leg: bytes, key: bytes, buckets: Sequence[int], legs: Legs, alone: bool, out: Decisions) -> None:
    """Write down which request a trace, or a part of one, belongs to.

    buckets: those of the shared traces it has a part in. The first is the request's; it is found by each.
    """
    part, trace = legs.parts.get(leg), leg
    if part:
        trace = part.trace_id
        for span in legs.traces[leg]:
            out.owners[trace, span.span_id, span.resource_id] = key
        if key != leg:
            out.merged.add((leg, part.first_bucket))
        out.merged |= {(key, bucket) for bucket in buckets[1:]}
    else:
        out.traces[trace] = (key, buckets[0], legs.rule[leg])
        out.tenants[trace] = legs.own[leg]
    if part or not alone or key != trace:
        out.further |= {(key, one, bucket) for one in (trace, key) for bucket in buckets}
    ids = {name for span in legs.traces[leg] for name in span.ids}
    out.names |= {(name, legs.own[leg], key, buckets[0], trace) for name in ids}


def _split_keys(out: Decisions) -> set[bytes]:
    return {key for _, _, key, _, _ in out.names}


def _on_record(names: Mapping[str, Sequence[Known]], out: Decisions) -> dict[str, list[Known]]:
    """What names stand for: the requests just found in shared traces, then what is on record, but for those
    that are requests no longer.
    """
    found: dict[str, list[Known]] = defaultdict(list)
    for name, tenant, key, bucket, _ in sorted(out.names):
        found[name].append(Known(key, bucket, tenant))
    for name, recorded in names.items():
        split = {known.tenant for known in found[name]}
        found[name] += [k for k in recorded if k.key not in out.traces and k.tenant not in split]
    return found


def _key(members: Sequence[bytes], legs: Legs, traces: Mapping[bytes, Known]) -> Known:
    """The key of a group: that of its part of a shared trace, which is the same whatever came first; else the
    oldest on record, but none that names a trace of another group.
    """
    part = next((leg for leg in members if leg in legs.parts), None)
    if part is not None:
        return Known(part, legs.parts[part].first_bucket)
    recorded = [
        traces[trace]
        for trace in members
        if trace in traces and (traces[trace].key in members or traces[trace].key not in legs.traces)
    ]
    if recorded:
        return min(recorded, key=lambda known: (known.first_bucket, known.key))
    return Known(members[0], _minute(_start(legs.traces[members[0]])))


def _adopted(
    legs: Legs, names: Mapping[str, Sequence[Known]], rooted: Mapping[bytes, bool]
) -> dict[bytes, Known]:
    """Keys that groups (by leader) take from requests whose traces are not before us, or are shared."""
    adopted: dict[bytes, Known] = {}
    whose: dict[bytes, str] = {}
    for name, members in sorted(legs.carriers.items()):
        known = [k for k in names.get(name, ()) if k.key not in legs.traces]
        crowded = several([*(k.tenant for k in known), *(legs.own[leg] for leg in members)])
        for leg in members if known else ():
            one = legs.leader(leg)
            if one in adopted:
                continue
            mine = legs.tenant_of(one)
            fitting = [
                k
                for k in known
                if (k.tenant == mine or (not crowded and "" in (k.tenant, mine)))
                and not (legs.rooted[one] and rooted.get(k.key, False))
                and not several((whose.get(k.key, ""), mine))
            ]
            if not fitting or len({k.key for k in fitting if rooted.get(k.key)}) > 1:
                continue
            adopted[one] = chosen = min(fitting, key=lambda k: (k.tenant != mine, k.first_bucket, k.key))
            whose[chosen.key] = mine or chosen.tenant or whose.get(chosen.key, "")
            legs.adopt(leg, rooted.get(chosen.key, False), chosen.tenant)
    return adopted


def _home(
    trace_id: bytes, rooted: Sequence[bytes], members: Sequence[bytes], single: Mapping[bytes, list[Span]]
) -> bytes | None:
    """The trace that a leg without a request span belongs to, or None when that cannot be told."""
    start = _start(single[trace_id])
    if len(rooted) == 1:
        return rooted[0]
    if rooted:
        around = [
            other
            for other in rooted
            if any(span.root and span.start_ns <= start <= span.end_ns for span in single[other])
        ]
        return around[0] if len(around) == 1 else None
    first = min(members, key=lambda other: _start(single[other]))
    near = start - max(span.end_ns for span in single[first]) <= SLACK_NS
    return first if first != trace_id and near else None


def split_key(trace_id: bytes, root_span_id: bytes, tenant: str = "") -> bytes:
    """Key (16 bytes) of one of several requests in a trace; the same whatever the order of arrival.

    root_span_id: empty for what a tenant has of a trace that others use as well.
    """
    return hashlib.blake2b(trace_id + root_span_id + tenant.encode(), digest_size=16).digest()


def _minute(ns: int) -> int:
    return ns // 60_000_000_000 * 60
