"""What stood still in front of prefill and then let everything go made the queue that followed."""

import pytest

from tests.verdict.build import HEALTHY, World, causes

SERVICE = HEALTHY["prefill_compute"]


def _standstill(world: World, phase: str, every: float) -> None:
    """Requests every so many seconds; from second 200 to 215 all are held in a phase, then let go at once.
    Without a phase no span covers what is before prefill.
    """
    free = 0.0
    for number in range(int(500 / every)):
        start = every * number
        held = max(HEALTHY["router_queue"], 215 - start) if 200 <= start < 215 else HEALTHY["router_queue"]
        phases = HEALTHY | ({"tokenize": held} if phase == "tokenize" else {"router_queue": held})
        reached = start + phases["router_queue"] + phases.get("tokenize", 0.0)
        wait = max(free - reached, 0.0)
        free = reached + wait + SERVICE
        phases["prefill_queue"] = wait
        if phase:
            world.request(start, phases)
        else:
            _without_a_router(world, start, phases)
    world.steady("kv_used_fraction", "decode-0", 0.3)


def _without_a_router(world: World, start: float, phases: dict[str, float]) -> None:
    at, spans = phases["router_queue"], {}
    for name in list(HEALTHY)[1:]:
        spans[name] = (at, at + phases[name])
        at += phases[name]
    world.request(start, None, spans)


def test_a_queue_that_follows_a_standstill_of_something_untraced_is_not_prefills() -> None:
    world = World()
    _standstill(world, "", every=0.5)
    assert causes(world)["insufficient_evidence"] > 0.95


@pytest.mark.parametrize(
    ("phase", "cause"), [("router_queue", "router_queue"), ("tokenize", "tokenizer_slow")]
)
def test_a_queue_that_follows_a_standstill_is_its_doing(phase: str, cause: str) -> None:
    world = World()
    _standstill(world, phase, every=0.5)
    assert causes(world)[cause] > 0.95


def test_a_queue_that_would_have_been_there_anyway_is_prefills() -> None:
    world = World()
    _standstill(world, "router_queue", every=0.2)  # twice as fast as prefill computes
    assert causes(world)["pool_imbalance.prefill_starved"] > 0.9
