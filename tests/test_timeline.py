"""The definitions of the telemetry convention: worked examples, and painting nanosecond by nanosecond."""

from hypothesis import given
from hypothesis import strategies as st

from analyzer.timeline import Interval, composites, decode_parts, exposed, union_ns
from collector.phases import DECODE_PARTS, TTFT_PARTS, TTFT_PHASES, Phase

ORDER = list(Phase)
TIMES = st.integers(0, 30)


@st.composite
def intervals(draw, attempts=1):
    first, second = sorted((draw(TIMES), draw(TIMES)))
    if draw(st.integers(0, 4)) == 0:
        covers = tuple(sorted(draw(st.sets(st.sampled_from(TTFT_PHASES), min_size=2)), key=ORDER.index))
        return Interval(first, second, None, covers, 1, draw(st.sampled_from(("why", "other"))))
    return Interval(first, second, draw(st.sampled_from(ORDER)), attempt=draw(st.integers(1, attempts)))


def nonzero(parts: dict[str, int]) -> dict[str, int]:
    return {part: ns for part, ns in parts.items() if ns}


@given(st.lists(intervals(), max_size=8), TIMES, TIMES)
def test_every_nanosecond_belongs_to_the_earliest_active_phase(timeline, one, other):
    start, end = sorted((one, other))
    painted = dict.fromkeys(TTFT_PARTS, 0)
    for ns in range(start, end):
        active = {i.phase for i in timeline if i.start_ns <= ns < i.end_ns}
        painted[next((phase for phase in TTFT_PHASES if phase in active), "unattributed")] += 1

    assert exposed(timeline, start, end) == painted


@given(st.lists(intervals(attempts=3), max_size=8), TIMES, TIMES)
def test_exposed_time_and_retries_add_up_and_composites_lie_in_unattributed(timeline, one, other):
    start, end = sorted((one, other))
    parts = exposed(timeline, start, end)

    assert list(parts) == list(TTFT_PARTS)
    assert sum(parts.values()) == end - start
    assert min(parts.values()) >= 0
    assert sum(c.exposed_ns for c in composites(timeline, start, end)) <= parts["unattributed"]


@given(st.lists(intervals(attempts=3), max_size=8), TIMES, TIMES, st.integers(-5, 50))
def test_decode_parts_add_up_and_the_reader_blocks_no_longer_than_it_stalled(timeline, one, other, stalled):
    first, last = sorted((one, other))
    parts = decode_parts(timeline, first, last, stalled)

    assert list(parts) == list(DECODE_PARTS)
    assert sum(parts.values()) == last - first
    assert 0 <= parts["blocked"] <= max(stalled, 0)


@given(st.lists(intervals(), max_size=8))
def test_a_union_counts_overlaps_once(timeline):
    covered = {ns for interval in timeline for ns in range(interval.start_ns, interval.end_ns)}
    assert union_ns(timeline) == len(covered)


def test_a_transfer_hidden_behind_compute_exposes_only_what_sticks_out():
    timeline = [
        Interval(0, 10, Phase.PREFILL_QUEUE),
        Interval(10, 50, Phase.PREFILL_COMPUTE),
        Interval(20, 70, Phase.KV_TRANSFER),
        Interval(65, 80, Phase.DECODE_QUEUE),
    ]
    assert nonzero(exposed(timeline, 0, 100)) == {
        "prefill_queue": 10, "prefill_compute": 40, "kv_transfer": 20, "decode_queue": 10, "unattributed": 20,
    }  # fmt: skip


def test_a_composite_explains_only_what_no_phase_does_and_feeds_none():
    wait = (Phase.KV_TRANSFER, Phase.DECODE_QUEUE)
    timeline = [Interval(0, 60, None, wait, 1, "why"), Interval(0, 25, Phase.PREFILL_COMPUTE)]

    assert nonzero(exposed(timeline, 0, 100)) == {"prefill_compute": 25, "unattributed": 75}
    ((covers, ns, reason),) = [(c.covers, c.exposed_ns, c.reason) for c in composites(timeline, 0, 100)]
    assert (covers, ns, reason) == (wait, 35, "why")


def attempt(number: int, queued: int, dispatched: int, computed: int) -> list[Interval]:
    return [
        Interval(queued, dispatched, Phase.ROUTER_QUEUE, attempt=number),
        Interval(dispatched, computed, Phase.PREFILL_COMPUTE, attempt=number),
    ]


def test_time_lost_to_a_superseded_attempt_is_retry():
    timeline = [*attempt(1, 0, 5, 90), *attempt(2, 30, 40, 80)]
    assert nonzero(exposed(timeline, 0, 100)) == {
        "router_queue": 5, "retry": 35, "prefill_compute": 40, "unattributed": 20,
    }  # fmt: skip


def test_an_attempt_superseded_after_the_first_token_lost_nothing_before_it():
    timeline = [*attempt(1, 0, 5, 90), *attempt(2, 105, 120, 150)]
    assert nonzero(exposed(timeline, 0, 100)) == {
        "router_queue": 5,
        "prefill_compute": 85,
        "unattributed": 10,
    }


def test_decode_time_by_part():
    timeline = [
        Interval(0, 100, Phase.DECODE),
        Interval(10, 20, preempted=True),
        Interval(20, 25, Phase.PREFILL_COMPUTE),
        Interval(0, 5, Phase.KV_TRANSFER),
    ]
    assert decode_parts(timeline, 0, 110, 15) == {
        "running": 75, "preempted": 10, "recompute": 5, "handoff": 5, "blocked": 15, "unattributed": 0,
    }  # fmt: skip
