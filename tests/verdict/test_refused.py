"""Refused requests missed for want of the pool that was full as they came."""

from collections.abc import Callable

import numpy as np
import pytest

from analyzer.verdict.attribution import attribute
from analyzer.verdict.diagnosis import diagnose_loaded
from analyzer.verdict.missing import missing_telemetry
from analyzer.verdict.tables import Outcome
from tests.verdict.build import HEALTHY, World, causes


def _refusals(world: World, compute: float, decode_used: float) -> None:
    """A request a second that met, whose prompt takes so long, and one refused in between."""
    for number in range(400):
        phases = HEALTHY | {"prefill_queue": 0.0, "prefill_compute": compute}
        world.request(1.0 * number, phases)
        world.request(
            number + 0.5, {"router_queue": 0.005}, outcome=Outcome.REJECTED, prefill_worker="",
            decode_worker="", tpot=None,
        )  # fmt: skip
    world.steady("kv_used_fraction", "decode-0", decode_used)


@pytest.mark.parametrize(
    ("compute", "decode_used", "cause"),
    [
        (0.98, 0.3, "pool_imbalance.prefill_starved"),
        (0.3, 0.97, "pool_imbalance.decode_starved"),
        (0.98, 0.97, "overload"),
        (0.3, 0.3, "insufficient_evidence"),
    ],
)
def test_what_was_full_as_requests_were_refused(compute: float, decode_used: float, cause: str) -> None:
    world = World(ttft=2.0)
    _refusals(world, compute, decode_used)
    assert causes(world) == {cause: 1.0}


def test_phases_that_answered_requests_tell_are_not_missing_of_those_that_were_refused() -> None:
    world = World(ttft=2.0)
    _refusals(world, compute=0.3, decode_used=0.3)
    s = world.situation()
    with np.errstate(divide="ignore", invalid="ignore"):
        assert [item.signal for item in missing_telemetry(s, attribute(s))] == []


def test_the_sentence_counts_the_refused_and_calls_none_of_them_a_matter_of_chance() -> None:
    world = World(ttft=2.0)
    _refusals(world, compute=0.98, decode_used=0.3)
    loaded = world.loaded()
    said = diagnose_loaded(loaded, loaded.objectives, 600 * 10**9).summary
    assert "400 of all were refused" in said
    assert "chance" not in said


def test_what_is_not_known_of_a_pool_is_no_room() -> None:
    world = World(ttft=2.0)
    up_to_prefill = {
        name: took for name, took in HEALTHY.items() if name in ("router_queue", "prefill_queue")
    }
    for number in range(400):
        phases = up_to_prefill | {"prefill_queue": 0.0, "prefill_compute": 0.98}
        world.request(1.0 * number, phases, tpot=None, decode_worker="")
        world.request(
            number + 0.5, {"router_queue": 0.005}, outcome=Outcome.REJECTED, prefill_worker="",
            decode_worker="", tpot=None,
        )  # fmt: skip
    assert causes(world) == {"insufficient_evidence": 1.0}


def test_a_prefill_pool_of_which_nothing_is_known_was_not_idle() -> None:
    world = World(ttft=2.0)
    for number in range(400):
        world.request(1.0 * number, {"router_queue": 0.005}, first_token=0.3, prefill_worker="")
        world.request(
            number + 0.5, {"router_queue": 0.005}, outcome=Outcome.REJECTED, prefill_worker="",
            decode_worker="", tpot=None,
        )  # fmt: skip
    world.steady("kv_used_fraction", "decode-0", 0.97)
    assert causes(world) == {"insufficient_evidence": 1.0}


@pytest.mark.parametrize("told", [lambda number: number == 0, lambda number: number % 2 == 0])
def test_a_prefill_pool_that_tells_of_some_of_its_work_was_not_idle(told: Callable[[int], bool]) -> None:
    """One request of all is traced; or one of two workers is."""
    world = World(ttft=2.0)
    for number in range(400):
        untold = {"router_queue": 0.005, "prefill_queue": 0.0}
        phases = HEALTHY | {"prefill_compute": 0.3} if told(number) else untold
        world.request(1.0 * number, phases, first_token=0.5, prefill_worker=f"prefill-{number % 2}")
        world.request(
            number + 0.5, {"router_queue": 0.005}, outcome=Outcome.REJECTED, prefill_worker="",
            decode_worker="", tpot=None,
        )  # fmt: skip
    world.steady("kv_used_fraction", "decode-0", 0.97)
    assert causes(world) == {"insufficient_evidence": 1.0}
