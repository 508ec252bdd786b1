"""What a worker does for a second or two beside its queue is chance; what it does for a while is not."""

from tests.verdict.build import HEALTHY, World, causes


def bursts(world: World, worker: str, after: float = 0.0, **given: object) -> None:
    """Prompts that keep a prefill worker busy for six of every eight seconds."""
    for burst in range(0, 400, 8):
        for number in range(10):
            phases = HEALTHY | {"prefill_compute": 0.6}
            world.request(burst + after + 0.6 * number, phases, prefill_worker=worker, **given)


def test_a_worker_that_paused_for_a_moment_beside_its_queue_is_not_idle() -> None:
    world = World()
    bursts(world, "prefill-0")
    for burst in range(0, 400, 8):
        world.request(burst + 6.2, HEALTHY | {"prefill_queue": 1.6})
    world.steady("kv_used_fraction", "decode-0", 0.3)
    assert causes(world)["pool_imbalance.prefill_starved"] > 0.95


def test_a_sibling_that_paused_for_a_moment_beside_its_queue_leaves_no_room() -> None:
    world, waits = World(), HEALTHY | {"prefill_queue": 1.7}
    for after, worker in ((0.0, "prefill-0"), (4.0, "prefill-1")):
        bursts(world, worker, after)
        for burst in range(0, 400, 8):
            for at in (2.1, 2.2, 2.3, 6.1):  # three while the other one pauses, one while this one does
                world.request(burst + after + at, waits, prefill_worker=worker)
    world.steady("kv_used_fraction", "decode-0", 0.3)
    assert causes(world)["pool_imbalance.prefill_starved"] > 0.95


def test_a_wait_behind_a_few_prompts_in_a_quiet_hour_is_not_beside_an_idle_worker() -> None:
    world = World(ttft=3.5)
    for start in range(0, 600, 60):
        for ahead in range(4):
            phases = HEALTHY | {"prefill_queue": 1.0 * ahead, "prefill_compute": 1.0}
            world.request(start + 0.001 * ahead, phases)
    world.steady("kv_used_fraction", "decode-0", 0.3)
    assert causes(world)["pool_imbalance.prefill_starved"] > 0.95
