"""A worker that came after a request was sent, or that is on its way out, was no choice for it."""

import numpy as np

from tests.verdict.build import HEALTHY, World, causes, healthy

WAITS = ("prefill-0", "prefill-1", "prefill-2", "prefill-3")


def _backlog(world: World) -> None:
    """Prompts that all went to prefill-0 within ten seconds, which works them off until second 340."""
    for number in range(130):
        phases = HEALTHY | {"prefill_queue": 0.3 * number, "prefill_compute": 0.3}
        world.request(300 + 0.01 * number, phases)
    world.steady("kv_used_fraction", "decode-0", 0.3)
    world.steady("running", "prefill-0", 1.0)


def test_workers_that_join_while_a_request_waits_do_not_make_its_worker_a_hot_one() -> None:
    world = World()
    healthy(world)
    _backlog(world)
    for name in WAITS[1:]:
        world.worker(name, "prefill")
        world.gauge("running", name, [(float(at), 0.0) for at in range(305, 600, 5)])
    assert causes(world)["pool_imbalance.prefill_starved"] > 0.95


def _full_beside(world: World, leave_at: float) -> None:
    """Waits for decode-0, whose siblings finish what they have and end at an instant."""
    for name in ("decode-1", "decode-2"):
        for number in range(40):
            world.request(5.0 * number, HEALTHY, decode_worker=name)
        world.gauge("running", name, [(float(at), 0.0) for at in range(0, int(leave_at), 5)])
    for number in range(80):
        phases = HEALTHY | {"decode_queue": 0.5 * number}
        world.request(230 + 0.5 * number, phases, tpot=0.04, output=500)
    world.gauge("running", "decode-0", [(float(at), 40.0 if at > 230 else 3.0) for at in range(0, 601, 5)])
    world.steady("kv_used_fraction", "decode-0", 0.5)


def test_workers_that_take_no_more_until_they_are_gone_are_no_idle_siblings() -> None:
    world = World()
    _full_beside(world, leave_at=290.0)
    assert causes(world)["pool_imbalance.decode_starved"] > 0.9


def test_workers_that_stay_and_are_sent_nothing_are_idle() -> None:
    world = World()
    _full_beside(world, leave_at=601.0)
    assert causes(world)["pool_imbalance.intra_pool_skew"] > 0.9


def test_since_when_gauges_tell_of_a_worker_that_came_later() -> None:
    world = World()
    healthy(world)
    world.steady("running", "prefill-0", 1.0)
    world.gauge("running", "prefill-1", [(400.0, 0.0), (410.0, 0.0)])
    pools = world.situation().pools
    assert pools.told_from(world.code("prefill-1")) == 400.0
    assert np.isneginf(pools.told_from(world.code("prefill-0")))
    assert np.isneginf(pools.told_from(world.code("decode-0")))
