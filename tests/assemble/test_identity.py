from collections import defaultdict
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.assemble.identity import Decisions, Span, decide

NAMES = ("a", "b", "c", "d")


@st.composite
def worlds(draw, tenants=("",)):
    """Spans of a few traces: some with a request span (with an id of its own), legs with or without ids.

    tenants: whose each span may be.
    """
    spans = []
    for trace in range(draw(st.integers(1, 6))):
        roots = draw(st.sampled_from((0, 0, 1, 1, 2)))
        for number in range(draw(st.integers(max(1, roots), 4))):
            root = number < roots
            start = draw(st.integers(0, 100))
            ids = (f"{trace}-{number}",) if root else ()
            if draw(st.booleans()):
                ids = (*ids, draw(st.sampled_from(NAMES)))
            spans.append(
                Span(
                    bytes([trace + 1]) * 16,
                    bytes([number + 1]) * 8,
                    bytes([draw(st.integers(0, 4))]) * 8,
                    draw(st.integers(1, 2)),
                    10**18 + start * 10**9,
                    10**18 + (start + draw(st.integers(0, 50))) * 10**9,
                    root,
                    ids,
                    draw(st.sampled_from(tenants)),
                )
            )
    return spans


def grouping(decisions: Decisions):
    traces = {trace: (key, bucket) for trace, (key, bucket, _) in decisions.traces.items()}
    return traces, decisions.owners, decisions.further, decisions.merged


def request_of(decisions: Decisions, span: Span) -> bytes:
    key, _, _ = decisions.traces[span.trace_id]
    return decisions.owners.get((span.trace_id, span.span_id, span.resource_id), key)


def one_resource_a_tenant(spans):
    """A process is one tenant's: the same number with another tenant is another process."""
    return [replace(s, resource_id=s.resource_id * 10 + len(s.tenant)) for s in spans]


@settings(deadline=None)
@given(worlds(("", "a", "bb")).map(one_resource_a_tenant), st.randoms(use_true_random=False))
def test_what_tenants_sent_is_never_one_request_whatever_the_order(spans, rng):
    found = decide(spans, {}, {}, {})
    tenants = defaultdict(set)
    for one in spans:
        tenants[request_of(found, one)].add(one.tenant)
    assert not [names - {""} for key, names in tenants.items() if key and len(names - {""}) > 1]
    before = grouping(found)
    rng.shuffle(spans)
    assert grouping(decide(spans, {}, {}, {})) == before


@settings(deadline=None)
@given(worlds(("a", "bb")).map(one_resource_a_tenant))
def test_what_another_tenant_sends_changes_nothing_of_ones_own(spans):
    def together(of, among):
        """Which spans of a tenant are one request."""
        found, groups = decide(among, {}, {}, {}), defaultdict(set)
        for one in among:
            if one.tenant == of:
                groups[request_of(found, one)].add(one)
        loose = groups.pop(b"", set())
        return set(map(frozenset, groups.values())), loose

    for tenant in ("a", "bb"):
        assert together(tenant, spans) == together(tenant, [s for s in spans if s.tenant == tenant])


@settings(deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_spans_does_not_change_who_belongs_together(spans, rng):
    before = grouping(decide(spans, {}, {}, {}))
    rng.shuffle(spans)
    assert grouping(decide(spans, {}, {}, {})) == before


@settings(deadline=None)
@given(worlds())
def test_every_trace_is_decided_and_requests_with_a_request_span_are_one_only_when_nested(spans):
    decisions = decide(spans, {}, {}, {})
    assert decisions.traces.keys() == {span.trace_id for span in spans}
    by_key = {}
    for s in spans:
        if s.root:
            key = decisions.owners.get(
                (s.trace_id, s.span_id, s.resource_id), decisions.traces[s.trace_id][0]
            )
            by_key.setdefault(key, []).append(s)
    for same in (roots for roots in by_key.values() if len(roots) > 1):
        assert len({root.trace_id for root in same}) == 1
        assert len([root for root in same if not enclosed(root, same, spans)]) == 1


def enclosed(root, others, spans):
    parents = {span.span_id: span.parent_id for span in spans if span.trace_id == root.trace_id}
    seen, at = set(), root.parent_id
    while at and at not in seen:
        if at != root.span_id and at in {other.span_id for other in others}:
            return True
        seen.add(at)
        at = parents.get(at)
    return False


def span(number, parent=0, root=False, ids=(), start=0):
    times = 10**18 + start * 10**9, 10**18 + (start + 5) * 10**9
    return Span(b"t" * 16, bytes([number]) * 8, bytes([parent]) * 8 if parent else b"", 1, *times, root, ids)


def owners(spans):
    decisions = decide(spans, {}, {}, {})
    key = decisions.traces[b"t" * 16][0]
    return {s.span_id[0]: decisions.owners.get((s.trace_id, s.span_id, 1), key) for s in spans}


def test_a_routers_request_span_within_a_proxys_is_the_same_request():
    assert len(set(owners([span(1, root=True, ids=("a",)), span(2, 1, root=True), span(3, 2)]).values())) == 1


def test_several_request_spans_within_one_are_the_same_request_when_they_bear_its_name():
    tries = [span(2, 1, root=True, ids=("a",)), span(3, 1, root=True, ids=("a",), start=6), span(4, 3)]
    assert len(set(owners([span(1, root=True, ids=("a",)), *tries]).values())) == 1


def test_a_caller_that_asks_twice_within_its_own_request_makes_three():
    asked = [span(2, 1, root=True, ids=("b",)), span(3, 1, root=True, ids=("c",), start=6), span(4, 3)]
    found = owners([span(1, root=True, ids=("a",)), *asked])
    assert len({found[1], found[2], found[3]}) == 3
    assert found[4] == found[3]


def test_requests_in_one_trace_that_bear_one_name_stay_themselves():
    spans = [
        span(1, root=True, ids=("a",)),
        span(2, 1, ids=("a",)),
        span(3, root=True, ids=("a",)),
        span(4, 3),
    ]
    found = owners(spans)
    assert found[1] == found[2] != found[3] == found[4]


def test_two_proxied_requests_in_one_trace_keep_their_routers_spans_apart():
    spans = [
        span(1, root=True, ids=("a",)), span(2, 1, root=True, ids=("a2",)), span(3, 2), span(4, ids=("a2",)),
        span(5, root=True, ids=("b",)), span(6, 5, root=True), span(7, 6),
    ]  # fmt: skip
    found = owners(spans)
    assert found[1] == found[2] == found[3] == found[4] != found[5] == found[6] == found[7]
