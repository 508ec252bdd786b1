"""Pools that would have been full, steps that would have been short, and requests that would have met."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.occupancy import Occupancy
from analyzer.queue_replay import waits
from analyzer.verdict.attribution import attribute
from analyzer.verdict.relay import ttft_without
from analyzer.verdict.tables import PART, PHASE
from analyzer.verdict.vocabulary import COLUMN, Cause
from collector.phases import TTFT_PARTS
from tests.verdict.build import HEALTHY, World, causes, healthy


def backlog(world: World, many: int, service: float = 0.4, **given) -> None:  # type: ignore[no-untyped-def]
    """Requests that come twice as fast as prefill-0 computes."""
    for number in range(many):
        waits = service / 2 * number
        world.request(300 + waits, {**HEALTHY, "prefill_queue": waits, "prefill_compute": service}, **given)


def would_have_met(world: World, cause: Cause) -> list[bool]:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = attribute(world.situation())
    met: list[bool] = found.would_have_met[:, COLUMN[cause]].tolist()
    return met


def test_decode_that_only_prefill_keeps_from_filling_up_is_overload() -> None:
    world = World()
    healthy(world)
    backlog(world, 300, tpot=0.04, output=200)  # 8 s each: 20 at a time as they are, 40 had they not waited
    world.steady("kv_capacity_tokens", "decode-0", 27_000)
    world.steady("kv_used_fraction", "decode-0", 0.85)
    found = causes(world)
    assert max(found, key=found.__getitem__) == "overload"


def test_a_burst_that_decode_works_off_is_not_overload() -> None:
    world = World()
    healthy(world)
    backlog(world, 40, tpot=0.04, output=200)
    world.steady("kv_capacity_tokens", "decode-0", 30_000)
    world.steady("kv_used_fraction", "decode-0", 0.6)
    assert causes(world)["pool_imbalance.prefill_starved"] > 0.9


def test_decode_with_room_for_all_that_prefill_holds_back_is_not() -> None:
    world = World()
    healthy(world)
    backlog(world, 40, tpot=0.04, output=200)
    world.steady("kv_capacity_tokens", "decode-0", 300_000)
    world.steady("kv_used_fraction", "decode-0", 0.1)
    assert causes(world)["pool_imbalance.prefill_starved"] > 0.9


def test_room_on_decode_that_waiting_prompts_held_is_free_once_they_do_not_wait() -> None:
    world = World(ttft=1.5)
    healthy(world)
    for number in range(30):
        waits = 0.2 * number
        spans = {
            "decode_queue": (0.0, waits),
            "prefill_queue": (0.0, waits),
            "prefill_compute": (waits, waits + 0.4),
            "first_decode_step": (waits + 0.4, waits + 0.42),
        }
        world.request(300 + 0.2 * number, spans=spans, output=10)
    world.steady("kv_used_fraction", "decode-0", 0.4)
    assert all(would_have_met(world, Cause.PREFILL_STARVED))


def test_prompts_that_come_sooner_make_steps_longer() -> None:
    world = World(ttft=1.5)
    for number in range(60):  # a step takes 2 ms for each stream beside it
        world.request(2.0 * number, HEALTHY, tpot=0.002 * (1 + number % 6), output=2 + number % 6 * 500)
    healthy(world)
    backlog(world, 30, service=1.0, tpot=0.04, output=100)
    found = would_have_met(world, Cause.PREFILL_STARVED)
    assert found
    with np.errstate(divide="ignore", invalid="ignore"):
        s = world.situation()
    began, ended = s.pools.streams_if_prefill_kept_up
    sooner = Occupancy(s.requests.decode_worker, began, ended).mean(s.decode_worker, s.of(began), s.of(ended))
    assert np.median(sooner) > 1.3 * np.median(s.of(s.batch))


def test_steps_that_are_long_without_recomputed_prompts_are_not_their_fault() -> None:
    world = World()
    for number in range(40):
        world.request(5.0 * number, HEALTHY, tpot=0.088)
    for number in range(10):
        world.request(
            300 + 3 * number,
            {**HEALTHY, "kv_import": 2.0, "prefill_compute": 0.1},
            local_prompt_tokens=5000.0,
            ttft_limit=9.0,
            account=0,
        )
    world.request(301, HEALTHY, tpot=0.09, output=200)
    found = causes(world)
    assert found["decode_bound"] > 0.9


def test_the_average_level_while_busy_leaves_idle_time_out() -> None:
    codes = np.ones(3, np.uint64)
    line = Occupancy(codes, np.array([0.0, 0.0, 10.0]), np.array([1.0, 2.0, 11.0]))
    assert line.while_busy(1) == 4 / 3
    assert line.while_busy(2) == 0.0


def beside(waits: float, room: float, compute: float = 0.4) -> dict[str, tuple[float, float]]:
    """Spans of a request whose decode was called beside prefill, and made room after `room` seconds."""
    done = waits + compute
    return {
        "prefill_queue": (0.0, waits),
        "prefill_compute": (waits, done),
        "decode_queue": (0.0, room),
        "first_decode_step": (max(done, room), max(done, room) + 0.02),
    }


def test_a_decode_clock_that_is_behind_does_not_make_lanes_side_by_side() -> None:
    world = World(ttft=1.5)
    healthy(world)
    for number in range(30):
        waits = 0.2 * number
        early = waits + 0.35  # really 0.4: decode's clock is 50 ms behind
        spans = {
            "prefill_queue": (0.0, waits),
            "prefill_compute": (waits, waits + 0.4),
            "decode_queue": (early, early + 0.01),
            "first_decode_step": (waits + 0.42, waits + 0.44),
        }
        world.request(300 + 0.2 * number, spans=spans, output=10)
    world.steady("kv_used_fraction", "decode-0", 0.4)
    assert all(would_have_met(world, Cause.PREFILL_STARVED))


def test_room_that_is_made_once_kv_is_there_is_waited_for_all_the_same() -> None:
    world = World(ttft=1.5)
    for number in range(60):
        world.request(2.0 * number, spans=beside(0.02, 0.43))
    for number in range(20):
        waits = 0.2 * number
        world.request(300 + 0.2 * number, spans=beside(waits, waits + 3.4), output=10)
    s = world.situation()
    removed = np.zeros((len(s.rows), len(TTFT_PARTS)))
    removed[:, PART["prefill_queue"]] = s.exposed[:, PART["prefill_queue"]]
    without = ttft_without(s, removed, np.ones(len(s.rows), bool))
    assert without == pytest.approx(np.full(20, 3.42))


def test_a_backlog_in_the_router_moves_to_prefill_once_the_router_is_quick() -> None:
    for rate, meets in ((1.0, True), (0.25, False)):  # seconds between requests; prefill takes 0.3 of them
        world = World()
        for number in range(40):
            held = (1.0 - rate) * number + 1.5  # the router lets one through every second
            world.request(rate * number, {**HEALTHY, "router_queue": held})
        found = would_have_met(world, Cause.ROUTER_QUEUE)
        assert all(found[20:]) == meets
        assert any(found[30:]) == meets


def test_room_on_decode_that_kv_under_way_holds_is_free_without_what_slows_it() -> None:
    world = World()
    for number in range(30):
        room = 0.0 if number % 3 else 2.0
        row = world.request(2.0 * number, {**HEALTHY, "decode_queue": room, "kv_transfer": 6.0}, output=5)
        world.hand_off(
            row, published=2.0 * number + 0.33, asked=2.0 * number + 0.33 + room,
            moved=2.0 * number + 6.33 + room, status=1, bytes=4e9, link_gb_s=50.0,
        )  # fmt: skip
    assert all(would_have_met(world, Cause.SLOW_LINK))


def test_tokens_that_decode_sampled_in_time_were_lost_on_the_way_out() -> None:
    world = World(tpot=0.05)
    for number in range(30):
        row = world.request(10.0 * number, HEALTHY, output=101, tpot=0.08)
        decoded = 100 * 0.02
        world.rows[row]["lasted_by_phase"][PHASE["decode"]] = decoded
        world.rows[row]["exposed_decode"] = [decoded, 0, 0, 0, 0, 100 * 0.08 - decoded]
    assert causes(world) == {"network_streaming.backpressure": 1.0}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50), st.integers(0, 9)), max_size=30))
def test_waits_are_those_of_a_server_that_takes_work_in_turn(work: list[tuple[int, int, int]]) -> None:
    workers, arrivals, service = (np.array([w[k] for w in work], float) for k in range(3))
    found = waits(workers.astype(np.uint64), arrivals, service)
    free: dict[float, float] = {}
    for i in np.argsort(arrivals, kind="stable").tolist():
        begins = max(arrivals[i], free.get(workers[i], 0.0))
        free[workers[i]] = begins + service[i]
        assert found[i] == (begins - arrivals[i] if workers[i] else 0.0)
