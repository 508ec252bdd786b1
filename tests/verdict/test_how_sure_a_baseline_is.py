"""What is normal where few requests are well, and what is said of a miss that nothing claims much of."""

import numpy as np
import pytest

from analyzer.verdict.tables import Status
from tests.verdict.build import HEALTHY, World, causes


def _moved(world: World, start: float, took: float, size: float, **given: object) -> None:
    workers = {
        "prefill_worker": given.pop("producer", "prefill-0"),
        "decode_worker": given.pop("consumer", "decode-0"),
    }
    row = world.request(start, HEALTHY | {"kv_transfer": took}, **workers)
    world.hand_off(
        row, published=start + 0.33, asked=start + 0.33, moved=start + 0.33 + took, status=Status.OK,
        bytes=size, producer=workers["prefill_worker"], consumer=workers["decode_worker"], **given,
    )  # fmt: skip


def test_a_path_over_which_only_small_hand_offs_meet_is_not_learned_to_be_normal() -> None:
    world = World()
    for number in range(120):
        size = 1e7 * (1 + number % 12)
        _moved(world, 4.0 * number, 0.002 + size / 1e8, size)
    assert causes(world)["transfer_delay.slow_link"] > 0.95


def test_lines_of_several_machines_are_not_one_full_line() -> None:
    """From second 150 to 350 every hand-off of four pairs is slow; several are under way at once."""
    world = World()
    lots = np.random.default_rng(6)
    for pair in range(4):
        for name, role in ((f"prefill-{pair}", "prefill"), (f"decode-{pair}", "decode")):
            world.worker(name, role, host=f"host-of-{name}")
        at = 0.0
        while at < 590:  # one after the other on each pair: no path is shared
            took = 0.7 if 150 < at < 350 else 0.16
            _moved(
                world, at, took, 1.8e9, producer=f"prefill-{pair}", consumer=f"decode-{pair}", link_gb_s=12.5
            )
            at += took + float(lots.exponential(1.0))
    found = causes(world)
    assert found.get("transfer_delay.contention", 0.0) < 0.05


def test_scatter_of_the_prompt_does_not_take_the_blame_for_a_miss_that_bytes_make() -> None:
    world = World(ttft=1.0)
    lots = np.random.default_rng(7)
    for number in range(60):
        phases = HEALTHY | {"prefill_compute": float(lots.uniform(0.34, 0.48)), "kv_transfer": 0.9}
        row = world.request(8.0 * number, phases)
        begun = 8.0 * number + phases["prefill_compute"] + 0.03
        world.hand_off(
            row, published=begun, asked=begun, moved=begun + 0.9, status=Status.OK, bytes=1e9, link_gb_s=1.6
        )
    found = causes(world)
    assert found["insufficient_evidence"] > 0.8
    assert found.get("prefill_bound", 0.0) < 0.1


@pytest.mark.parametrize(("objective", "cause"), [(14.0, "insufficient_evidence"), (11.0, "prefill_bound")])
def test_a_prompt_that_fits_the_objective_is_not_why_an_ordinary_wait_misses_it(
    objective: float, cause: str
) -> None:
    world = World(ttft=objective, seconds=1800.0)
    for number in range(40):
        phases = HEALTHY | {"prefill_compute": 10.0, "prefill_queue": 6.0 if number % 3 == 0 else 0.01}
        world.request(45.0 * number, phases)
    world.steady("kv_used_fraction", "decode-0", 0.2)
    assert causes(world) == {cause: 1.0}
