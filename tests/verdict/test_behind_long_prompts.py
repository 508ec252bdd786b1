"""A short prompt that waits behind a long one waits for prefill; its own prefill is not too long."""

import pytest

from analyzer.verdict.diagnosis import diagnose_loaded
from tests.verdict.build import HEALTHY, World, causes


def _long_and_short(world: World, sibling: bool) -> None:
    """Every 100 s a prompt of 20 s; what comes meanwhile waits for its end. Most prompts take 0.1 s."""
    for start in range(0, 600, 100):
        world.request(start, HEALTHY | {"prefill_queue": 0.0, "prefill_compute": 20.0}, input_tokens=2e5)
        for behind in range(1, 20, 2):
            phases = HEALTHY | {"prefill_queue": 20.0 - behind, "prefill_compute": 0.1}
            world.request(start + behind, phases, input_tokens=1e3)
        for later in range(30, 100, 1):
            phases = HEALTHY | {"prefill_queue": 0.0, "prefill_compute": 0.1}
            worker = "prefill-1" if sibling and later % 2 else "prefill-0"
            world.request(start + later, phases, input_tokens=1e3, prefill_worker=worker)
    if sibling:
        world.steady("running", "prefill-1", 0.0)
    world.steady("kv_used_fraction", "decode-0", 0.3)


@pytest.mark.parametrize(
    ("sibling", "cause"),
    [(False, "pool_imbalance.prefill_starved"), (True, "pool_imbalance.intra_pool_skew")],
)
def test_short_prompts_behind_a_long_one_wait_for_prefill(sibling: bool, cause: str) -> None:
    world = World()
    _long_and_short(world, sibling)
    found = causes(world)
    long_ones = 1 / 11
    assert found[cause] == pytest.approx(1 - long_ones, abs=0.05)
    assert found["prefill_bound"] == pytest.approx(long_ones, abs=0.05)


def test_an_objective_that_leaves_no_room_beside_the_prompt_is_the_prompts() -> None:
    world = World(ttft=0.5)
    for start in range(0, 600, 6):
        world.request(start, HEALTHY | {"prefill_queue": 0.0, "prefill_compute": 0.3})
        world.request(start + 0.1, HEALTHY | {"prefill_queue": 0.2, "prefill_compute": 0.3})
    world.steady("kv_used_fraction", "decode-0", 0.3)
    assert "pool_imbalance.prefill_starved" not in causes(world)


def test_an_ordinary_wait_that_an_ample_objective_has_no_room_for_is_chance_and_not_the_prompts() -> None:
    world = World(ttft=2.0)
    for start in range(0, 600, 10):
        world.request(start, HEALTHY | {"prefill_queue": 0.0, "prefill_compute": 0.6})
    world.request(301, HEALTHY | {"prefill_queue": 1.4, "prefill_compute": 0.6})
    loaded = world.loaded()
    found = diagnose_loaded(loaded, loaded.objectives, 600 * 10**9)
    assert {str(item.cause): item.share for item in found.causes} == {"insufficient_evidence": 1.0}
    assert "ordinary waits" in found.summary
