from hypothesis import given
from hypothesis import strategies as st

from analyzer.assemble.identity import Decisions, Span, decide

NAMES = ("a", "b", "c", "d")


@st.composite
def worlds(draw):
    """Spans of a few traces: some with a request span (with an id of its own), legs with or without ids."""
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
                )
            )
    return spans


def grouping(decisions: Decisions):
    traces = {trace: (key, bucket) for trace, (key, bucket, _) in decisions.traces.items()}
    return traces, decisions.owners, decisions.further, decisions.merged


@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_spans_does_not_change_who_belongs_together(spans, rng):
    before = grouping(decide(spans, {}, {}, {}))
    rng.shuffle(spans)
    assert grouping(decide(spans, {}, {}, {})) == before


@given(worlds())
def test_every_trace_is_decided_and_requests_with_a_request_span_are_never_one(spans):
    decisions = decide(spans, {}, {}, {})
    assert decisions.traces.keys() == {span.trace_id for span in spans}
    keys = [
        decisions.owners.get((s.trace_id, s.span_id, s.resource_id), decisions.traces[s.trace_id][0])
        for s in spans
        if s.root
    ]
    assert len(keys) == len(set(keys))
