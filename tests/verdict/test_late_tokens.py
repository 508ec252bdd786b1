"""Tokens that come late: for the batch, for one worker's share of the load, after a start, by themselves."""

from collections.abc import Sequence

import pytest

from tests.verdict.build import HEALTHY, World, causes, healthy

DECODE = [f"decode-{number}" for number in range(4)]


def streams(
    world: World, worker: str, every: float, tpot: float, until: float = 600.0, **given: object
) -> None:
    """Answers of 200 tokens on one decode worker, one after every so many seconds."""
    for number in range(int(until / every)):
        world.request(every * number, HEALTHY, tpot=tpot, output=200, decode_worker=worker, **given)


def test_a_full_gauge_beside_two_streams_does_not_make_their_steps_slow() -> None:
    world = World()
    streams(world, "decode-0", 8.0, 0.08)
    world.steady("kv_used_fraction", "decode-0", 0.98)
    assert causes(world) == {"decode_bound": 1.0}


def test_a_full_gauge_over_a_cache_that_streams_hardly_use_is_not_their_number() -> None:
    world = World()
    streams(world, "decode-0", 2.0, 0.08)
    world.steady("kv_used_fraction", "decode-0", 0.98)
    world.steady("kv_capacity_tokens", "decode-0", 1e6)
    assert causes(world) == {"decode_bound": 1.0}


def test_streams_at_the_cap_of_slots_are_too_many_though_their_own_wait_was_short() -> None:
    world = World(ttft=9.0)
    waits = [4.5, 4.0, 0.1, 4.2, 0.2]
    for number in range(300):
        wait = waits[number % len(waits)]
        world.request(2.0 * number, HEALTHY | {"decode_queue": wait}, tpot=0.12, output=200)
    world.steady("running", "decode-0", 12.0)
    world.steady("kv_used_fraction", "decode-0", 0.5)
    assert causes(world)["pool_imbalance.decode_starved"] > 0.9


def test_no_cap_is_seen_where_hardly_anybody_waits() -> None:
    world = World(ttft=5.0)
    streams(world, "decode-0", 2.0, 0.12)
    world.steady("running", "decode-0", 12.0)
    world.steady("kv_used_fraction", "decode-0", 0.5)
    assert causes(world) == {"decode_bound": 1.0}


@pytest.mark.parametrize(
    ("others", "cause"), [(0.02, "pool_imbalance.intra_pool_skew"), (0.07, "decode_bound")]
)
def test_a_worker_that_is_given_most_streams_is_hot_while_its_siblings_are_in_time(
    others: float, cause: str
) -> None:
    world = World()
    streams(world, DECODE[0], 1.5, 0.07)
    for worker in DECODE[1:]:
        streams(world, worker, 10.0, others)
    assert causes(world)[cause] > 0.95


def test_a_slow_worker_that_is_given_no_more_than_its_siblings_is_not_hot() -> None:
    world = World()
    streams(world, DECODE[0], 2.0, 0.07)
    for worker in DECODE[1:]:
        streams(world, worker, 2.0, 0.02)
    assert causes(world) == {"decode_bound": 1.0}


def started(world: World, slow: Sequence[float]) -> None:
    """A decode worker started at 100 s, whose first streams take so long per token, and its older sibling."""
    streams(world, "decode-1", 5.0, 0.02)
    world.worker("decode-0", starts=(100.0,))
    for number in range(100):
        tpot = slow[number] if number < len(slow) else 0.02
        world.request(101.0 + 4.0 * number, HEALTHY, tpot=tpot, output=200, decode_worker="decode-0")


def test_streams_that_stand_still_while_a_new_worker_compiles_meet_a_cold_start() -> None:
    world = World()
    started(world, [0.15, 0.12, 0.09, 0.08, 0.06])
    assert causes(world)["cold_start"] > 0.9


def test_a_new_worker_that_stays_slow_is_slow_not_cold() -> None:
    world = World()
    started(world, [0.08] * 100)
    found = causes(world)
    assert found["decode_bound"] > 0.95
    assert "cold_start" not in found


def test_a_slow_stream_of_a_worker_long_started_is_no_cold_start() -> None:
    world = World()
    healthy(world, many=80)
    world.worker("decode-0", starts=(-5000.0,))
    world.request(300.0, HEALTHY, tpot=0.09, output=200)
    assert causes(world) == {"decode_bound": 1.0}


def test_a_worker_that_has_more_streams_for_a_moment_is_not_hot() -> None:
    world = World()
    for worker, after in ((DECODE[0], 0.0), (DECODE[1], 20.0)):  # both get bursts of six, in turn
        for burst in range(0, 600, 40):
            for number in range(6):
                tpot = 0.055 if number == 5 else 0.045
                start = burst + after + 0.1 * number
                world.request(start, HEALTHY, tpot=tpot, output=200, decode_worker=worker)
    assert causes(world) == {"decode_bound": 1.0}
