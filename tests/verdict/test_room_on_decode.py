"""Waits for room on decode that end as a stream ends; what slow hand-offs hold of it; delays beside room."""

import numpy as np
import pytest

from analyzer.verdict.tables import Status
from tests.verdict.build import HEALTHY, World, causes

BEFORE = {p: HEALTHY[p] for p in ("router_queue", "prefill_queue", "prefill_compute", "kv_publish")}
OFFERED = sum(BEFORE.values())


def _room_for(world: World, many: int, gap: float, sizes: bool) -> None:
    """Requests every `gap` seconds to one worker that has room for `many` small ones; each takes 1 to 3."""
    lots = np.random.default_rng(3)
    ends: list[tuple[float, int]] = []
    taken_at = 0.0
    for number in range(150):
        start = gap * number
        needs = int(lots.integers(1, 4)) if sizes else 1
        taken_at = max(start + OFFERED, taken_at)
        while sum(need for end, need in ends if end > taken_at) + needs > many:
            taken_at = min(end for end, _ in ends if end > taken_at)
        output = int(lots.integers(100, 500))
        phases = HEALTHY | {"decode_queue": taken_at - start - OFFERED}
        world.request(start, phases, output=output, tpot=0.02)
        ends.append((taken_at + 0.05 + 0.02 * (output - 1), needs))


@pytest.mark.parametrize("sizes", [False, True])
def test_waits_that_end_as_streams_end_are_for_their_room_whatever_gauges_tell(sizes: bool) -> None:
    world = World(seconds=2000.0)
    _room_for(world, 6, 1.5, sizes)
    assert causes(world)["pool_imbalance.decode_starved"] > 0.9


@pytest.mark.parametrize("gauges", [False, True])
def test_a_slow_control_path_is_not_want_of_room_for_the_many_that_it_delays(gauges: bool) -> None:
    world = World()
    lots = np.random.default_rng(4)
    for start in np.sort(lots.uniform(0, 560, 1500)).tolist():
        late = HEALTHY | {"decode_queue": lots.uniform(0.6, 1.8)}
        world.request(start, late, output=int(lots.integers(50, 300)), tpot=0.013)
    if gauges:
        running = [(5.0 * n, float(lots.integers(2, 9))) for n in range(120)]
        world.gauge("running", "decode-0", running)
        world.steady("kv_used_fraction", "decode-0", 0.1)
    found = causes(world)
    assert found["handover_overhead"] > 0.9


@pytest.mark.parametrize(("together", "cause"), [(1, "slow_link"), (4, "contention")])
def test_room_that_hand_offs_on_a_bad_path_hold_is_that_paths(together: int, cause: str) -> None:
    world = World(seconds=900.0)
    for number in range(100):
        took = 6.0 if together == 1 else 1.5 * (1 + number % 6)
        many = 3 if together == 1 else 1 + number % 6
        for beside in range(many):
            start = 8.0 * number + 0.01 * beside
            waits = HEALTHY | {"kv_transfer": took, "decode_queue": 0.02}
            row = world.request(start, waits, output=10)
            begun = start + OFFERED
            world.hand_off(
                row, published=begun, asked=begun, moved=begun + took, imported=begun + took,
                status=Status.OK, bytes=3.2e9, link_gb_s=2.5 if together > 1 else 12.5,
            )  # fmt: skip
        # comes while all that is there is on its way, and waits until it has come
        wait = max(took - 0.5, 0.1)
        row = world.request(8.0 * number + 0.4, HEALTHY | {"decode_queue": wait, "kv_transfer": 0.3})
        begun = 8.0 * number + 0.4 + OFFERED + wait
        world.hand_off(
            row, published=begun, asked=begun, moved=begun + 0.3, imported=begun + 0.3, status=Status.OK,
            bytes=1e8, link_gb_s=12.5,
        )  # fmt: skip
    world.steady("kv_used_fraction", "decode-0", 0.95)
    found = causes(world)
    assert found[f"transfer_delay.{cause}"] > 0.7
    assert found.get("pool_imbalance.decode_starved", 0.0) < 0.05
