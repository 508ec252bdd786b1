"""Which spans become one request, whatever the order in which they come."""

from dataclasses import replace
from itertools import permutations

import pytest

from analyzer.assemble.assembler import Assembler
from analyzer.assemble.oracle_spans import Process, Span
from tests.assemble.otlp import body, differences, expected, rows
from tests.assemble.test_arrival import native


def leg(span: Span, trace: int, *names: str) -> Span:
    """The span in a trace of its own, carrying the request's id or another."""
    ids = {"pd.request.id": names[0]} if names else {}
    return replace(span, trace_id=_trace(span, trace), attributes={**span.attributes, **ids})


def _trace(span: Span, trace: int) -> bytes:
    return (int.from_bytes(span.trace_id, "big") // 100 * 100 + trace).to_bytes(16, "big")


def in_every_order(store, parts) -> list[list[dict]]:
    """Rows of each order of arrival: all at once, then every permutation of the parts, one part a step.

    parts(trace, tag) makes the parts of one order from its own trace number and a suffix for its ids.
    """
    orders = []
    made = parts(100, "-0")
    orders.append([[span for part in made for span in part], *([] for _ in made[1:])])
    for number, order in enumerate(permutations(range(len(made))), 1):
        mine = parts(100 + 100 * number, f"-{number}")
        orders.append([mine[place] for place in order])
    assembler = Assembler(store)
    for step in range(len(made)):
        store.insert_traces([body([span for order in orders for span in order[step]])])
        assembler.step()
    assembler.catch_up()
    by_order = [[] for _ in orders]
    for row in rows(store).values():
        by_order[int.from_bytes(row["trace_id"], "big") // 100 - 1].append(row)
    return by_order


def test_legs_in_traces_of_their_own_join_by_request_id(store):
    def parts(trace, tag):
        root, queue, compute = native(trace, name="a" + tag)
        return [[root], [leg(queue, 2)], [leg(compute, 3)]]

    for number, found in enumerate(in_every_order(store, parts)):
        want = expected([[span for part in parts(100 + 100 * number, f"-{number}") for span in part]])[0]
        assert want["joined_by"] == ("request_id", "trace_id")
        assert [differences(row, want) for row in found] == [{}]


def bridge(root: Span, name: str) -> Span:
    return replace(
        root, span_id=b"bridging", name="pd.tokenize", attributes={"pd.request.id": name}, events=()
    )


def test_a_trace_that_knows_two_ids_joins_what_carries_either(store):
    def parts(trace, tag):
        root, queue, compute = native(trace, name="a" + tag)
        late = replace(compute, span_id=b"the-late", name="pd.kv_publish")
        return [
            [root, bridge(root, "b" + tag)], [leg(queue, 2, "a" + tag)], [leg(compute, 3, "b" + tag)],
            [leg(late, 4, "b" + tag)],
        ]  # fmt: skip

    for number, found in enumerate(in_every_order(store, parts)):
        want = expected([[span for part in parts(100 + 100 * number, f"-{number}") for span in part]])[0]
        assert [differences(row, want) for row in found] == [{}], number


def test_a_tap_before_a_router_is_one_request_served_by_the_routers_system(store):
    """The tap's own span tells start, end and outcome; it comes last, for it ends last."""

    def parts(trace, tag):
        tap = replace(native(trace, name="a" + tag)[0], span_id=b"the--tap")
        process = Process((("service.name", "vllm-router"),))
        served = {"request_id": "a" + tag, "http.response.status_code": "500"}
        router = replace(
            tap, span_id=b"a-router", parent_id=tap.span_id, scope="vllm-router", kind=2, name="POST /v1",
            events=(), start_ns=tap.start_ns + 10**6, end_ns=tap.end_ns - 10**6, process=process,
            attributes=served,
        )  # fmt: skip
        engine = replace(
            router, span_id=b"anengine", parent_id=b"a-router", scope="vllm", name="llm_request",
            attributes={"gen_ai.request.id": f"cmpl-a{tag}-0", "gen_ai.usage.prompt_tokens": "7"},
        )  # fmt: skip
        return [[tap], [router], [engine]]

    for number, found in enumerate(in_every_order(store, parts)):
        made = [span for part in parts(100 + 100 * number, f"-{number}") for span in part]
        want = expected([made])[0]
        assert (want["system"], want["outcome"], want["started_at"]) == ("vllm", "ok", made[0].start_ns)
        assert want["ended_at"] == made[0].end_ns
        assert [differences(row, want) for row in found] == [{}], number


def two_in_one(trace, tag) -> tuple[list[Span], list[Span]]:
    one, other = native(trace, name="a" + tag), native(trace, name="b" + tag)
    return one, [replace(span, span_id=bytes(reversed(span.span_id))) for span in other]


def test_two_requests_in_one_trace_are_two_rows(store):
    def parts(trace, tag):
        one, other = two_in_one(trace, tag)
        return [[one[0], other[1]], [other[0], one[1]], [one[2], other[2]]]

    for number, found in enumerate(in_every_order(store, parts)):
        wanted = expected(two_in_one(100 + 100 * number, f"-{number}"))
        found.sort(key=lambda row: row["request_id"])
        assert [row["joined_by"] for row in found] == [("shared_trace",)] * 2
        for row, want in zip(found, wanted, strict=True):
            assert differences(row, {**want, "joined_by": ("shared_trace",)}) == {}


def test_a_leg_in_its_own_trace_joins_one_of_two_requests_in_a_trace(store):
    def parts(trace, tag):
        one, other = two_in_one(trace, tag)
        return [[one[0], other[0]], [leg(one[1], 2)], [one[2], *other[1:]]]

    for found in in_every_order(store, parts):
        assert sorted((row["request_id"][0], row["spans"]) for row in found) == [("a", 3), ("b", 3)]
        joined = {row["request_id"][0]: row["joined_by"] for row in found}
        assert joined["a"] == ("request_id", "shared_trace", "trace_id")


def test_requests_whose_clients_gave_the_same_id_stay_apart(store):
    def parts(trace, tag):
        return [native(trace + number, name="same") for number in range(3)]

    for found in in_every_order(store, parts):
        assert [row["spans"] for row in found] == [3, 3, 3]


def test_span_ids_that_repeat_between_processes_are_different_spans(store):
    root, queue, compute = native(1)
    twin = replace(
        compute, span_id=queue.span_id, process=replace(queue.process, attributes=(("service.name", "q"),))
    )
    assembler = Assembler(store)
    for spans in ([root, queue], [twin]):
        store.insert_traces([body(spans)])
        assembler.catch_up()

    ((row,),) = [tuple(rows(store).values())]
    assert (row["spans"], row["duplicate_spans"]) == (3, 0)
    assert differences(row, expected([[root, queue, twin]])[0]) == {}


@pytest.mark.parametrize("skew_s", [3600, -86400])
def test_a_leg_whose_clock_is_far_off_still_joins(store, skew_s):
    def parts(trace, tag):
        root, queue, compute = native(trace, name="a" + tag)
        far = replace(queue, start_ns=queue.start_ns + skew_s * 10**9, end_ns=queue.end_ns + skew_s * 10**9)
        return [[root, compute], [leg(far, 2)]]

    for found in in_every_order(store, parts):
        assert [row["spans"] for row in found] == [3]
