"""A transfer that gave up says nothing of its path's rate; a pair that alone fails says much of its ends."""

import numpy as np
import pytest

from analyzer.verdict.attribution import attribute
from analyzer.verdict.causes.failed_hand_off import condemned_pairs
from analyzer.verdict.findings.fleet import path_specific
from analyzer.verdict.tables import Outcome, Status
from tests.verdict.build import HEALTHY, World, causes, healthy

UP_TO_TRANSFER = ("router_queue", "prefill_queue", "prefill_compute", "kv_publish")


def handed_off(world: World, start: float, producer: str, consumer: str, seconds: float = 0.02) -> None:
    """A request that met, and its transfer."""
    row = world.request(start, HEALTHY, prefill_worker=producer, decode_worker=consumer)
    offered = start + sum(HEALTHY[phase] for phase in UP_TO_TRANSFER)
    world.hand_off(
        row, producer=producer, consumer=consumer, published=offered, asked=offered + 0.03,
        moved=offered + 0.03 + seconds, imported=offered + 0.04 + seconds, freed=offered + 0.04 + seconds,
        freed_why=1, status=Status.OK,
    )  # fmt: skip


def gave_up(world: World, start: float, producer: str, consumer: str, after: float) -> int:
    """A request whose transfer failed after so many seconds, and it with it."""
    phases = {phase: HEALTHY[phase] for phase in UP_TO_TRANSFER} | {"kv_transfer": after}
    row = world.request(
        start, phases, outcome=Outcome.ERROR, prefill_worker=producer, decode_worker=consumer, tpot=None
    )
    offered = start + sum(HEALTHY[phase] for phase in UP_TO_TRANSFER)
    world.hand_off(
        row, producer=producer, consumer=consumer, published=offered, asked=offered, moved=offered + after,
        freed=offered + after, freed_why=2, status=Status.FAILED,
    )  # fmt: skip
    return row


def test_a_transfer_that_failed_after_seconds_is_not_a_slow_one() -> None:
    world = World()
    healthy(world)
    for number in range(20):
        gave_up(world, 300 + 5 * number, "prefill-0", "decode-0", after=5.0)
    found = causes(world)
    assert found == {"insufficient_evidence": 1.0}


def test_the_time_until_a_load_failed_is_the_recomputations() -> None:
    world = World()
    healthy(world)
    for number in range(10):
        phases = HEALTHY | {"kv_transfer": 2.0, "kv_import": 0.4}
        row = world.request(300 + 5 * number, phases, local_prompt_tokens=1000.0)
        at = 300 + 5 * number + 0.35
        world.hand_off(row, published=at, asked=at, moved=at + 2.0, imported=at + 2.4, status=Status.FAILED)
    assert causes(world) == {"interference.decode_recompute": 1.0}


def _pairs(world: World, fails_from: float) -> None:
    """Two prefill and two decode workers, of which one pair fails from an instant on."""
    for number in range(240):
        start = 2.0 * number
        producer, consumer = f"prefill-{number % 2}", f"decode-{number // 2 % 2}"
        if (producer, consumer) == ("prefill-1", "decode-1") and start >= fails_from:
            gave_up(world, start, producer, consumer, after=0.02)
        else:
            handed_off(world, start, producer, consumer)


def test_a_pair_that_worked_and_then_alone_fails_keeps_a_wrong_picture_of_its_peer() -> None:
    world = World()
    _pairs(world, fails_from=100.0)
    s = world.situation()
    pair = (world.code("prefill-1"), world.code("decode-1"))
    assert condemned_pairs(s) == {pair: True}
    assert causes(world) == {"transfer_failure.stale_peer": 1.0}
    with np.errstate(divide="ignore", invalid="ignore"):
        finding = path_specific(s, attribute(s))
    assert finding is not None
    assert finding.detail == "hand-offs fail only from prefill-1 to decode-1"


def test_a_pair_that_never_worked_is_named_and_not_explained() -> None:
    world = World()
    _pairs(world, fails_from=0.0)
    assert list(condemned_pairs(world.situation()).values()) == [False]
    assert causes(world) == {"insufficient_evidence": 1.0}


@pytest.mark.parametrize("side", ["producer", "consumer"])
def test_a_side_that_fails_with_several_is_no_matter_of_one_pair(side: str) -> None:
    world = World()
    for number in range(240):
        ends = {"producer": f"prefill-{number % 2}", "consumer": f"decode-{number // 2 % 2}"}
        if ends[side].endswith("1") and number >= 60:
            gave_up(world, 2.0 * number, ends["producer"], ends["consumer"], after=0.02)
        else:
            handed_off(world, 2.0 * number, ends["producer"], ends["consumer"])
    assert condemned_pairs(world.situation()) == {}
