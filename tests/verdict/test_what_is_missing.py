"""A signal that would decide between two causes is missing: neither is said."""

import numpy as np
import pytest

from analyzer.verdict.attribution import attribute
from analyzer.verdict.missing import missing_telemetry
from analyzer.verdict.tables import PHASE, ClockOffset, Freed, Outcome, Status
from tests.verdict.build import HEALTHY, NAN, World, causes, healthy
from tests.verdict.test_causes import moved, slow

UNBOUNDED = 2**63 - 1


def dominant(world: World) -> str:
    found = causes(world)
    return max(found, key=found.__getitem__)


@pytest.mark.parametrize(
    ("post", "descriptors", "cause"),
    [
        (1.5, 100_000, "transfer_delay.many_small_blocks"),
        (1.5, NAN, "insufficient_evidence"),
        (NAN, 100_000, "insufficient_evidence"),
        (0.01, 100_000, "transfer_delay.slow_link"),
        (NAN, 300, "transfer_delay.slow_link"),
        (NAN, NAN, "transfer_delay.slow_link"),
    ],
)
def test_small_blocks_and_a_slow_link_are_told_apart_by_posting(
    post: float, descriptors: float, cause: str
) -> None:
    world = World()
    for number in range(30):
        row = world.request(10.0 * number, slow(kv_transfer=2.0))
        moved(world, row, 10.0 * number + 0.33, 2.0, bytes=1e9, post=post, descriptors=descriptors)
    assert causes(world)[cause] > 0.95


@pytest.mark.parametrize("stalled", [0.0, NAN])
def test_one_slow_answer_where_nobody_tells_of_readers_is_not_put_down_to_the_way_out(stalled: float) -> None:
    world = World()
    healthy(world)
    world.request(300, slow(network_streaming=3.0), stalled=stalled)
    told = np.isfinite(stalled)
    assert causes(world) == {"network_streaming.backpressure" if told else "insufficient_evidence": 1.0}


def test_a_way_out_that_holds_up_most_answers_needs_no_word_of_readers() -> None:
    world = World()
    for number in range(30):
        world.request(10.0 * number, slow(network_streaming=3.0))
    assert causes(world) == {"network_streaming.backpressure": 1.0}


@pytest.mark.parametrize(
    ("seen", "cause"), [(True, "orphaned_kv.unclaimed"), (False, "insufficient_evidence")]
)
def test_kv_is_unclaimed_only_where_decode_is_traced(seen: bool, cause: str) -> None:
    world = World()
    healthy(world)
    if not seen:
        for number in range(20):
            world.request(100 + number, {"prefill_queue": 0.01, "prefill_compute": 0.3}, tpot=None)
    row = world.request(300, {"prefill_compute": 0.3}, outcome=Outcome.ERROR, lasted=30.0, tpot=None)
    world.hand_off(row, published=300.3, freed=330.3, freed_why=Freed.EXPIRED, lease_end=330.3)
    assert causes(world) == {cause: 1.0}


@pytest.mark.parametrize("traced", [True, False])
def test_room_is_never_filled_only_where_waits_for_prefill_are_traced(traced: bool) -> None:
    world = World()
    usual = HEALTHY if traced else {name: took for name, took in HEALTHY.items() if name != "prefill_queue"}
    for number in range(30):
        world.request(10.0 * number, usual)
    row = world.request(350, spans={"decode_queue": (0, 1)}, outcome=Outcome.TIMEOUT, lasted=60.0, tpot=None)
    world.hand_off(row, reserved=351.0, reserved_until=410.0, given_back=410.0, given_back_why=Freed.ABORTED)
    expected = "orphaned_kv.reserved_never_filled" if traced else "insufficient_evidence"
    assert dominant(world) == expected


@pytest.mark.parametrize(
    ("low_ms", "high_ms", "cause"),
    [
        (-5, 5, "handover_overhead"),
        (-5, None, "insufficient_evidence"),
        (-3000, 3000, "insufficient_evidence"),
    ],
)
def test_a_gap_between_two_clocks_counts_beyond_their_doubt(
    low_ms: int, high_ms: int | None, cause: str
) -> None:
    world = World()
    healthy(world)
    world.request(
        300,
        spans={
            "prefill_queue": (0, 0.02),
            "prefill_compute": (0.02, 0.32),
            "kv_publish": (0.32, 0.33),
            "decode_queue": (2.5, 2.51),
            "kv_transfer": (2.51, 2.53),
            "kv_import": (2.53, 2.54),
            "first_decode_step": (2.54, 2.56),
        },
    )
    high = UNBOUNDED if high_ms is None else high_ms * 10**6
    world.worker("prefill-0", "prefill")
    world.worker("decode-0", "decode")
    world.clocks = [
        ClockOffset("prefill-0", 0, 0, -5 * 10**6, 5 * 10**6, False),
        ClockOffset("decode-0", 0, 0, low_ms * 10**6, high, False),
        ClockOffset("decode-1", 0, 10**9, 10**9, 10**9, False),
    ]
    assert dominant(world) == cause


@pytest.mark.parametrize(
    ("traced", "uncovered_s", "told"), [(True, 0.0, True), (False, 2.0, False), (False, 0.3, True)]
)
def test_prefill_is_not_called_short_while_waits_for_decode_may_be_hidden(
    traced: bool, uncovered_s: float, told: bool
) -> None:
    """Nor is it kept back when far less time is uncovered than prefill was waited for."""
    world = World()
    usual = HEALTHY if traced else {name: took for name, took in HEALTHY.items() if name != "decode_queue"}
    for number in range(30):
        world.request(8.0 * number, usual)
    for number in range(20):
        waits = 0.3 * number
        start = waits + 0.3 + uncovered_s
        spans = {
            "prefill_queue": (0.0, waits),
            "prefill_compute": (waits, waits + 0.3),
            "first_decode_step": (start, start + 0.02),
        }
        world.request(300.0, spans=spans)
    assert ("pool_imbalance.prefill_starved" in causes(world)) == told


def test_batches_are_known_without_the_spans_of_first_steps_and_without_those_of_decode() -> None:
    for lacks in ("first_decode_step", "decode"):
        world = World()
        for _ in range(8):
            row = world.request(5.0, HEALTHY, output=200)
            at = world.rows[row]
            for column in ("phase_from", "phase_until"):
                at[column][PHASE[lacks]] = NAN
        s = world.situation()
        assert s.batch == pytest.approx(np.full(8, 8.0), rel=0.05)


def test_a_worker_that_starts_anew_has_first_uses_anew() -> None:
    world = World()
    world.worker("prefill-0", "prefill", starts=(290.0,))
    for number in range(30):
        moved(world, world.request(2.0 * number, HEALTHY), 2.0 * number + 0.33, 0.02)
    moved(world, world.request(300, slow(kv_transfer=20.0)), 300.33, 20.0)
    for number in range(30):
        moved(world, world.request(340.0 + number, HEALTHY), 340.33 + number, 0.02)
    assert causes(world) == {"cold_start": 1.0}


def test_first_steps_that_share_their_worker_with_a_recomputed_prompt_are_not_cold() -> None:
    world = World()
    world.worker("decode-0", "decode", starts=(-1.0,))
    healthy(world)
    row = world.request(50, slow(first_decode_step=2.0), local_prompt_tokens=1000.0)
    moved(world, row, 50.33, 0.02)
    world.hand_offs[-1]["status"] = Status.FAILED
    assert "cold_start" not in causes(world)


def test_cold_starts_are_explained_where_no_transfer_is_seen() -> None:
    world = World()
    healthy(world)
    world.worker("prefill-0", "prefill", starts=(-1.0,))
    world.request(2.0, slow(prefill_compute=9.0))
    s = world.situation()
    with np.errstate(divide="ignore", invalid="ignore"):
        rules = [rule for rule, amount in attribute(s).asked if amount > 0 and rule.cause == "cold_start"]
        said = rules[0].explain(s, np.ones(1, bool))
    assert "prefill_compute" in {item.signal for item in said}


def missing(world: World) -> set[str]:
    with np.errstate(divide="ignore", invalid="ignore"):
        s = world.situation()
        return {item.signal for item in missing_telemetry(s, attribute(s))}


def test_what_would_decide_is_named() -> None:
    blocks = World()
    for number in range(30):
        row = blocks.request(10.0 * number, slow(kv_transfer=2.0))
        moved(blocks, row, 10.0 * number + 0.33, 2.0, bytes=1e9, descriptors=100_000)
    assert "pd.kv.post_ms" in missing(blocks)
    readers = World()
    healthy(readers)
    readers.request(300, slow(network_streaming=3.0))
    assert "pd.stream.stalled_ms" in missing(readers)


def test_nothing_is_missing_of_requests_that_were_refused() -> None:
    """Seen live: behind a dead decode worker the router refused some, which have no phases to be told."""
    world = World()
    healthy(world)
    for number in range(20):
        world.request(300.0 + number, outcome=Outcome.REJECTED, lasted=0.01, tpot=None)
    with np.errstate(divide="ignore", invalid="ignore"):
        s = world.situation()
        assert missing_telemetry(s, attribute(s)) == []
