"""What is said of a pool's workers whose requests tell their phases, and of those whose requests do not."""

import pytest

from analyzer.verdict.diagnosis import diagnose_loaded
from analyzer.verdict.pool_answer import PoolState, pool_states
from analyzer.verdict.tables import PHASE
from tests.verdict.build import World


def _pools(world: World) -> dict[str, PoolState]:
    loaded = world.loaded()
    return {p.pool: p for p in pool_states(diagnose_loaded(loaded, loaded.objectives, 600 * 10**9))}


def test_a_worker_whose_requests_tell_their_phases_has_rates() -> None:
    world = World()
    for at in range(0, 600, 10):
        world.request(at, {"prefill_queue": 0.1, "prefill_compute": 0.2, "decode_queue": 0.01})

    (worker,) = _pools(world)["prefill"].workers

    assert worker.service_rates.value == {
        "requests_per_s": 0.1, "prompt_tokens_per_s": 100.0, "prompt_tokens_per_busy_s": 5000.0,
    }  # fmt: skip
    assert (worker.service_rates.source, worker.saturated.value) == ("derived", False)


def test_a_worker_whose_requests_tell_no_phase_is_not_idle_but_unknown() -> None:
    world = World()
    for at in range(0, 600, 10):
        world.request(at, first_token=0.3, tpot=None, lasted=1.0)

    pools = _pools(world)

    for name, service in (("prefill", "prefill_compute"), ("decode", "decode")):
        (worker,) = pools[name].workers
        for value in (worker.queue_depth, worker.running, worker.service_rates, worker.saturated):
            assert (value.value, value.source) == (None, None)
        assert worker.service_rates.reason == f"none of this worker's requests tells {service}"
        assert pools[name].verdict.startswith("not known")


def test_a_gauge_tells_what_no_request_does() -> None:
    world = World()
    for at in range(0, 600, 10):
        world.request(at, first_token=0.3, tpot=None, lasted=1.0)
    world.steady("running", "prefill-0", 3.0)

    (worker,) = _pools(world)["prefill"].workers

    assert (worker.running.value, worker.running.source) == (3.0, "observed")
    assert (worker.saturated.value, worker.saturated.source) == (False, "observed")
    assert worker.service_rates.value is None


@pytest.mark.parametrize(
    ("moved", "imported", "until", "room_since", "room_until"),
    [(0.5, 0.6, 9.0, 10.6, 19.0), (8.0, 8.1, 8.15, 10.3, 10.4)],
)
def test_the_hand_off_between_two_waits_for_decode_is_no_wait_for_room(
    moved: float, imported: float, until: float, room_since: float, room_until: float
) -> None:
    world = World()
    row = world.request(
        10.0,
        spans={"decode_queue": (0.3, until), "kv_transfer": (0.4, moved), "kv_import": (moved, imported)},
    )
    world.rows[row]["lasted_by_phase"][PHASE["decode_queue"]] = 0.1 + until - imported
    since, end = world.situation().pools.room_wait
    assert (since[0], end[0]) == (pytest.approx(room_since), pytest.approx(room_until))
