"""Every rule: where it fires, where it leaves off, and where it says that it cannot tell."""

import numpy as np
import pytest

from analyzer.verdict.tables import Account, Freed, Outcome, Status, Transport
from tests.verdict.build import HEALTHY, NAN, World, causes, healthy


def slow(**longer: float) -> dict[str, float]:
    return HEALTHY | longer


def queued_for_prefill(world: World, many: int = 60, service: float = 0.3, **given: object) -> None:
    """A backlog on prefill-0: requests come twice as fast as it computes, one at a time."""
    for number in range(many):
        world.request(300 + service / 2 * number, slow(prefill_queue=service / 2 * number), **given)


def test_a_prefill_backlog_is_starvation_while_decode_has_room() -> None:
    world = World()
    healthy(world)
    queued_for_prefill(world)
    world.steady("kv_used_fraction", "decode-0", 0.4)
    assert causes(world)["pool_imbalance.prefill_starved"] > 0.95


def test_a_prefill_backlog_beside_a_full_decode_pool_is_overload() -> None:
    world = World()
    healthy(world)
    queued_for_prefill(world)
    for number in range(8):
        world.request(295 + 0.01 * number, HEALTHY, tpot=0.04, output=1000)
    world.steady("kv_used_fraction", "decode-0", 0.97)
    assert causes(world)["overload"] > 0.9


def test_a_cache_full_of_room_for_prompts_that_wait_for_prefill_is_not_overload() -> None:
    world = World(ttft=2.0)
    healthy(world)
    for number in range(60):
        world.request(300 + 0.15 * number, slow(prefill_queue=0.15 * number, decode_queue=0.15))
    world.steady("kv_capacity_tokens", "decode-0", 50_000)
    world.steady("kv_used_fraction", "decode-0", 0.95)
    found = causes(world)
    assert found["pool_imbalance.prefill_starved"] > 0.95
    assert "overload" not in found


def test_a_full_decode_pool_that_holds_idle_prefill_back_is_not_overload() -> None:
    world = World()
    healthy(world)
    for number in range(20):
        world.request(150 + 0.01 * number, HEALTHY, tpot=0.04, output=10_000)
    for number in range(40):
        world.request(200 + 5 * number, slow(prefill_queue=4.0, decode_queue=20.0))
    for worker in ("prefill-0", "decode-0"):
        world.gauge("kv_used_fraction", worker, [(at, 0.1 if at < 150 else 0.97) for at in range(0, 600, 10)])
    found = causes(world)
    assert found["pool_imbalance.decode_starved"] > 0.9
    assert "overload" not in found


def test_a_wait_of_about_one_prompt_is_ordinary_queueing_and_blames_no_pool() -> None:
    world = World(ttft=0.9)
    healthy(world)
    world.request(400, slow(prefill_queue=0.5, prefill_compute=0.5))
    assert "pool_imbalance.prefill_starved" not in causes(world)


def test_a_hot_worker_beside_idle_siblings_is_skew() -> None:
    world = World()
    healthy(world)
    for number in range(120):
        world.request(200 + 3 * number, HEALTHY, prefill_worker=f"prefill-{1 + number % 3}")
    queued_for_prefill(world)
    assert causes(world)["pool_imbalance.intra_pool_skew"] > 0.95


def test_siblings_that_are_gone_do_not_make_a_hot_worker() -> None:
    world = World()
    for number in range(40):
        world.request(number, HEALTHY, prefill_worker=f"prefill-{1 + number % 3}")
    healthy(world, 10)
    queued_for_prefill(world)
    assert causes(world)["pool_imbalance.prefill_starved"] > 0.9


def test_a_sibling_that_reports_and_was_sent_nothing_is_idle() -> None:
    world = World()
    healthy(world)
    queued_for_prefill(world)
    for name in ("prefill-1", "prefill-2"):
        world.worker(name, "prefill")
        world.steady("running", name, 0.0)
    assert causes(world)["pool_imbalance.intra_pool_skew"] > 0.95


def test_a_decode_sibling_that_was_sent_nothing_is_idle() -> None:
    world = World()
    healthy(world)
    for number in range(60):
        world.request(200 + 2 * number, slow(decode_queue=10.0), output=1000)
    world.steady("kv_used_fraction", "decode-0", 0.97)
    assert causes(world)["pool_imbalance.decode_starved"] > 0.9
    world.worker("decode-1", "decode")
    world.steady("kv_used_fraction", "decode-1", 0.0)
    assert causes(world)["pool_imbalance.intra_pool_skew"] > 0.9


def test_an_idle_worker_of_the_other_pool_is_no_sibling() -> None:
    world = World()
    healthy(world)
    queued_for_prefill(world)
    world.worker("decode-1", "decode")
    world.steady("running", "decode-1", 0.0)
    assert causes(world)["pool_imbalance.prefill_starved"] > 0.9


def test_waiting_behind_prompts_of_clients_that_left_is_cancelled() -> None:
    world = World()
    for number in range(8):
        world.request(
            0.1 * number,
            spans={"prefill_queue": (0.0, 5.0 * number), "prefill_compute": (5.0 * number, 5.0 * number + 5)},
            outcome=Outcome.CANCELLED,
            account=2,
            lasted=1.0,
        )
    world.request(1.0, slow(prefill_queue=38.0))
    assert causes(world)["cancelled"] == 1.0


def test_waiting_behind_prompts_that_are_wanted_is_not_cancelled() -> None:
    world = World()
    for number in range(8):
        world.request(
            0.1 * number,
            spans={"prefill_queue": (0.0, 5.0 * number), "prefill_compute": (5.0 * number, 5.0 * number + 5)},
        )
    world.request(1.0, slow(prefill_queue=38.0))
    assert "cancelled" not in causes(world)


def test_copies_of_retried_requests_that_fill_the_queue_are_retry_amplification() -> None:
    world = World()
    healthy(world)
    queued_for_prefill(world)
    world.superseded = [("prefill-0", 300 + 0.6 * n, 300.6 + 0.6 * n) for n in range(40)]
    assert causes(world)["retry_amplification"] > 0.9


@pytest.mark.parametrize(
    ("why", "until", "cause"),
    [
        (Freed.EXPIRED, 560.0, "orphaned_kv.unclaimed"),
        (Freed.NO, NAN, "orphaned_kv.leaked"),
    ],
)
def test_a_queue_behind_a_cache_full_of_orphans_is_theirs(why: Freed, until: float, cause: str) -> None:
    world = World()
    healthy(world)
    for number in range(9):
        row = world.request(200, {"prefill_compute": 0.3}, outcome=Outcome.CANCELLED, account=2, lasted=0.5)
        world.hand_off(row, published=200 + number / 100, freed=until, freed_why=why)
    queued_for_prefill(world)
    world.steady("kv_used_fraction", "prefill-0", 0.95)
    world.steady("kv_capacity_tokens", "prefill-0", 10_000)
    assert causes(world)[cause] > 0.95


def test_orphans_in_a_cache_that_has_room_blame_nobody() -> None:
    world = World()
    healthy(world)
    row = world.request(200, {"prefill_compute": 0.3}, outcome=Outcome.CANCELLED, account=2, lasted=0.5)
    world.hand_off(row, published=200, freed=560, freed_why=Freed.EXPIRED)
    queued_for_prefill(world)
    for number in range(20):
        world.request(
            300 + 0.3 * number,
            spans={"prefill_queue": (0, 0), "prefill_compute": (0, 0.3)},
            outcome=Outcome.CANCELLED,
            account=2,
            lasted=9,
        )
    world.steady("kv_used_fraction", "prefill-0", 0.2)
    world.steady("kv_capacity_tokens", "prefill-0", 100_000)
    assert not any(cause.startswith("orphaned_kv") for cause in causes(world))


def test_decode_room_held_for_kv_that_never_comes() -> None:
    world = World()
    healthy(world)
    for number in range(9):
        row = world.request(100, {"router_queue": 0.01}, outcome=Outcome.CANCELLED, account=2, lasted=300.0)
        world.hand_off(
            row,
            reserved=100 + number / 100,
            reserved_until=400.0,
            given_back=400.0,
            given_back_why=Freed.ABORTED,
            reserved_tokens=1000.0,
        )
    for number in range(10):
        world.request(200 + number, slow(decode_queue=150.0))
    world.steady("kv_capacity_tokens", "decode-0", 10_000)
    found = causes(world)
    assert found["orphaned_kv.reserved_never_filled"] > 0.9


def test_reservations_beyond_what_the_cache_can_hold_are_a_queue_not_orphans() -> None:
    world = World()
    healthy(world)
    for number in range(60):
        row = world.request(100, {"router_queue": 0.01}, outcome=Outcome.CANCELLED, account=2, lasted=300.0)
        world.hand_off(row, reserved=100 + number / 100, reserved_until=400.0, reserved_tokens=1000.0)
    for number in range(10):
        world.request(200 + number, slow(decode_queue=150.0))
    world.steady("kv_capacity_tokens", "decode-0", 10_000)
    assert "orphaned_kv.reserved_never_filled" not in causes(world)


def _decode_fills(world: World, kept: int, given_back: int) -> None:
    """Room on decode of clients that left: kept for good, or given back after five minutes."""
    healthy(world)
    for number in range(kept + given_back):
        row = world.request(100, {"router_queue": 0.01}, outcome=Outcome.CANCELLED, account=2, lasted=2.0)
        back = {"given_back": 400.0, "given_back_why": Freed.ABORTED} if number >= kept else {}
        world.hand_off(row, reserved=100 + number / 100, reserved_until=101.0, reserved_tokens=1000.0, **back)
    for number in range(10):
        world.request(200 + number, slow(decode_queue=150.0))
    world.steady("kv_capacity_tokens", "decode-0", 10_000)


def test_room_on_decode_that_nobody_gives_back_is_leaked() -> None:
    world = World()
    _decode_fills(world, kept=9, given_back=0)
    world.gauge(
        "kv_used_fraction", "decode-0", [(at, 0.02 if at < 100 else 0.95) for at in range(0, 600, 10)]
    )
    assert causes(world)["orphaned_kv.leaked"] > 0.9


def test_room_of_which_no_span_says_when_it_was_given_back_is_not_called_leaked() -> None:
    world = World()
    _decode_fills(world, kept=9, given_back=0)
    world.gauge(
        "kv_used_fraction", "decode-0", [(at, 0.95 if at < 400 else 0.02) for at in range(0, 600, 10)]
    )
    assert causes(world)["orphaned_kv.reserved_never_filled"] > 0.9


def test_what_leaked_and_what_is_only_late_share_the_whole_wait() -> None:
    world = World()
    _decode_fills(world, kept=5, given_back=4)
    found = causes(world)
    assert found["orphaned_kv.leaked"] == pytest.approx(5 / 9, abs=0.03)
    assert found["orphaned_kv.reserved_never_filled"] == pytest.approx(4 / 9, abs=0.03)


def test_a_wait_longer_than_the_lease_is_expired_before_read() -> None:
    world = World()
    healthy(world)
    row = world.request(300, slow(decode_queue=40.0))
    offered = 300 + 0.328
    world.hand_off(
        row,
        published=offered,
        lease_end=offered + 30,
        asked=offered + 40,
        moved=offered + 41,
        imported=offered + 41.1,
        freed=offered + 30.01,
        expired=offered + 30.01,
        freed_why=Freed.EXPIRED,
    )
    assert causes(world) == {"orphaned_kv.expired_before_read": 1.0}


@pytest.mark.parametrize(
    ("used", "running", "cause"),
    [
        (0.97, 8.0, "pool_imbalance.decode_starved"),
        (0.2, 1.0, "handover_overhead"),
    ],
)
def test_a_long_decode_wait_is_starvation_only_where_decode_has_no_room(
    used: float, running: float, cause: str
) -> None:
    world = World()
    healthy(world)
    world.request(300, slow(decode_queue=3.0))
    world.steady("kv_used_fraction", "decode-0", used)
    world.gauge("running", "decode-0", [(float(at), 8.0 if at < 50 else running) for at in range(0, 600, 10)])
    assert causes(world) == {cause: 1.0}


def test_time_between_the_pools_that_is_neither_bytes_nor_room_is_the_hand_over() -> None:
    world = World(ttft=0.5)
    healthy(world)
    world.request(300, slow(kv_publish=0.2, kv_import=0.1, first_decode_step=0.15))
    assert causes(world) == {"handover_overhead": 1.0}


@pytest.mark.parametrize(("publish", "shares"), [(0.003, (0.4, 0.6)), (0.06, (0.99, 1.0))])
def test_a_hand_over_shorter_than_its_bytes_shares_a_miss_with_ordinary_waits(
    publish: float, shares: tuple[float, float]
) -> None:
    world = World(ttft=0.45)
    for number in range(40):
        world.request(5.0 * number, slow(kv_publish=publish))
    world.request(300, slow(prefill_queue=0.09, kv_publish=publish, decode_queue=0.13 - publish))
    found = causes(world)
    low, high = shares
    assert low <= found["handover_overhead"] <= high
    assert found.get("insufficient_evidence", 0.0) == pytest.approx(1.0 - found["handover_overhead"])


def test_a_gap_with_no_spans_on_the_decode_side_is_not_guessed_at() -> None:
    world = World()
    healthy(world)
    world.request(
        300,
        spans={"prefill_queue": (0, 0.02), "prefill_compute": (0.02, 0.32), "first_decode_step": (3.0, 3.02)},
    )
    assert causes(world) == {"insufficient_evidence": 1.0}


def test_a_gap_between_spans_of_both_sides_is_the_way_between_them() -> None:
    world = World()
    healthy(world)
    world.request(
        300,
        spans={
            "prefill_queue": (0, 0.02),
            "prefill_compute": (0.02, 0.32),
            "kv_publish": (0.32, 0.33),
            "decode_queue": (2.5, 2.51),
            "kv_transfer": (2.51, 2.53),
            "kv_import": (2.53, 2.54),
            "first_decode_step": (2.54, 2.56),
        },
    )
    assert causes(world) == {"handover_overhead": 1.0}


def moved(world: World, row: int, start: float, took: float, **given: object) -> None:
    world.hand_off(
        row,
        published=start,
        asked=start,
        moved=start + took,
        imported=start + took,
        status=Status.OK,
        **given,
    )


def test_transfers_slower_than_their_line_at_any_load_are_a_slow_link() -> None:
    world = World()
    for number in range(30):
        row = world.request(10.0 * number, slow(kv_transfer=2.0))
        moved(world, row, 10.0 * number + 0.33, 2.0, bytes=4e9, link_gb_s=50.0)
    assert causes(world)["transfer_delay.slow_link"] > 0.95


def test_transfers_that_share_a_full_line_are_contention() -> None:
    world = World()
    for batch in range(12):
        together = 2 + batch % 6
        for number in range(together):
            start = 40.0 * batch + 0.001 * number
            row = world.request(start, slow(kv_transfer=1.0 * together))
            moved(world, row, start + 0.33, 1.0 * together, bytes=2e9, link_gb_s=2.5)
    found = causes(world)
    assert found["transfer_delay.contention"] > 0.7
    assert found["transfer_delay.contention"] > found.get("transfer_delay.slow_link", 0) * 3


def test_a_path_full_far_below_its_line_is_slow_however_many_share_it() -> None:
    world = World()
    for batch in range(12):
        together = 2 + batch % 6
        for number in range(together):
            start = 40.0 * batch + 0.001 * number
            row = world.request(start, slow(kv_transfer=1.0 * together))
            moved(world, row, start + 0.33, 1.0 * together, bytes=2e9, link_gb_s=50.0)
    assert causes(world)["transfer_delay.slow_link"] > 0.95


def test_a_path_that_was_slow_for_a_while_and_so_had_more_under_way_is_not_full() -> None:
    world = World()
    lots = np.random.default_rng(5)
    for start in np.sort(lots.uniform(0, 500, 1000)).tolist():
        took = 1.8 if start < 100 else 0.25  # slow transfers meet each other, quick ones seldom do
        row = world.request(start, slow(kv_transfer=took))
        moved(world, row, start + 0.33, took, bytes=1e9)
    assert causes(world)["transfer_delay.slow_link"] > 0.95


@pytest.mark.parametrize(("descriptors", "cause"), [(100_000, "many_small_blocks"), (300, "slow_link")])
def test_posting_counts_as_small_blocks_only_where_blocks_are_small(descriptors: int, cause: str) -> None:
    world = World()
    for number in range(30):
        row = world.request(10.0 * number, slow(kv_transfer=2.0))
        moved(world, row, 10.0 * number + 0.33, 2.0, bytes=1e9, post=1.5, descriptors=descriptors)
    assert causes(world)[f"transfer_delay.{cause}"] > 0.95


@pytest.mark.parametrize(("link", "cause"), [(50.0, "tcp_fallback"), (NAN, "slow_link")])
def test_tcp_is_a_fallback_only_where_a_faster_way_is_known(link: float, cause: str) -> None:
    world = World()
    for number in range(30):
        row = world.request(10.0 * number, slow(kv_transfer=4.0))
        moved(world, row, 10.0 * number + 0.33, 4.0, bytes=1e9, transport=Transport.TCP, link_gb_s=link)
    assert causes(world)[f"transfer_delay.{cause}"] > 0.95


def test_bytes_that_decode_already_held_are_redundant() -> None:
    world = World()
    for number in range(30):
        row = world.request(10.0 * number, slow(kv_transfer=2.0))
        moved(
            world,
            row,
            10.0 * number + 0.33,
            2.0,
            bytes=2e10,
            tokens=1000.0,
            already_held_tokens=900.0,
            link_gb_s=14.0,
        )
    assert causes(world)["transfer_delay.redundant_prefix"] > 0.9


def test_a_slow_transfer_of_unknown_size_is_not_guessed_at() -> None:
    world = World()
    for number in range(30):
        row = world.request(10.0 * number, HEALTHY)
        moved(world, row, 10.0 * number + 0.33, 0.02, bytes=1e8)
    row = world.request(400, slow(kv_transfer=5.0))
    moved(world, row, 400.33, 5.0, bytes=NAN)
    assert causes(world) == {"insufficient_evidence": 1.0}


def test_only_the_first_transfer_of_a_pair_just_started_is_a_cold_start() -> None:
    world = World()
    world.worker("prefill-0", "prefill", starts=(-1.0,))
    row = world.request(2.0, slow(kv_transfer=30.0))
    moved(world, row, 2.33, 30.0)
    for number in range(30):
        row = world.request(50.0 + number, HEALTHY)
        moved(world, row, 50.33 + number, 0.02)
    assert causes(world) == {"cold_start": 1.0}


def test_a_slow_first_transfer_of_workers_that_ran_for_long_is_no_cold_start() -> None:
    world = World()
    for name in ("prefill-0", "decode-0"):
        world.worker(name, starts=(-90_000.0,))
    row = world.request(2.0, slow(kv_transfer=30.0))
    moved(world, row, 2.33, 30.0)
    for number in range(30):
        row = world.request(50.0 + number, HEALTHY)
        moved(world, row, 50.33 + number, 0.02)
    assert "cold_start" not in causes(world)


def restarted(starts: tuple[float, ...], slow_until: float) -> dict[str, float]:
    """Causes where one prompt in 20 s takes long up to an instant; workers were started at these."""
    world = World()
    world.worker("prefill-0", "prefill", starts=starts)
    for number in range(60):
        start = 20.0 * number
        world.request(start, slow(prefill_compute=4.0) if 200 <= start < slow_until else HEALTHY)
    return causes(world)


def test_a_worker_is_cold_until_its_uses_cost_what_they_usually_do() -> None:
    assert restarted((190.0,), slow_until=520.0) == {"cold_start": 1.0}


@pytest.mark.parametrize("starts", [(), (-90_000.0,)])
def test_slow_prompts_of_a_worker_that_was_not_just_started_are_no_cold_start(
    starts: tuple[float, ...],
) -> None:
    assert "cold_start" not in restarted(starts, slow_until=520.0)


def test_a_worker_that_never_gets_warm_is_cold_for_two_minutes_only() -> None:
    assert restarted((190.0,), slow_until=1e9).get("cold_start", 0.0) < 0.2


def test_the_prompts_own_cost_is_prefill_bound() -> None:
    world = World()
    for number in range(40):
        world.request(
            5.0 * number, slow(prefill_compute=0.0003 * (500 + 50 * number)), input_tokens=500.0 + 50 * number
        )
    world.request(400, slow(prefill_compute=3.0), input_tokens=10_000.0)
    assert causes(world) == {"prefill_bound": 1.0}


@pytest.mark.parametrize(
    ("phase", "cause"), [("router_queue", "router_queue"), ("tokenize", "tokenizer_slow")]
)
def test_time_before_dispatch(phase: str, cause: str) -> None:
    world = World()
    healthy(world)
    world.request(300, slow(**{phase: 3.0}))
    assert causes(world) == {cause: 1.0}


def test_what_tokenising_takes_of_the_routers_queue_is_the_tokenizers() -> None:
    world = World()
    healthy(world)
    world.request(300, slow(router_queue=4.0), spans={"tokenize": (0.5, 3.5)})
    found = causes(world)
    assert found["tokenizer_slow"] == pytest.approx(0.75, abs=0.01)
    assert found["router_queue"] == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize(
    ("stalled", "cause"), [(2.9, "client_stall"), (0.0, "network_streaming.backpressure")]
)
def test_a_token_that_does_not_leave(stalled: float, cause: str) -> None:
    world = World()
    healthy(world)
    world.request(300, slow(network_streaming=3.0), stalled=stalled)
    assert causes(world) == {cause: 1.0}


@pytest.mark.parametrize(
    ("others", "cause"), [(0.004, "client_stall"), (2.0, "network_streaming.backpressure")]
)
def test_a_stall_seen_in_part_is_the_readers_where_others_get_their_tokens_at_once(
    others: float, cause: str
) -> None:
    world = World()
    healthy(world)
    for number in range(20):
        world.request(200 + number, slow(network_streaming=others), stalled=0.0)
    world.request(300, slow(network_streaming=3.0), stalled=0.9)
    assert causes(world)[cause] > 0.9


def test_streams_beside_recomputed_prompts_are_slowed_by_them() -> None:
    world = World()
    healthy(world)
    for number in range(10):
        world.request(
            300 + 3 * number,
            slow(kv_import=2.0, prefill_compute=0.1),
            local_prompt_tokens=5000.0,
            ttft_limit=9.0,
            account=0,
        )
    world.request(301, HEALTHY, tpot=0.09, output=200)
    assert causes(world)["interference.decode_recompute"] > 0.9


def test_a_first_step_behind_a_prompt_recomputed_for_its_lease_is_the_leases_however_long_the_stream() -> (
    None
):
    world = World()
    healthy(world)
    row = world.request(
        300, HEALTHY | {"kv_import": 1.0}, local_prompt_tokens=1000.0, ttft_limit=9.0, account=Account.MET
    )
    offered = 300 + 0.328
    world.hand_off(
        row, published=offered, lease_end=offered + 0.02, expired=offered + 0.02, freed=offered + 0.02,
        freed_why=Freed.EXPIRED, status=Status.EXPIRED,
    )  # fmt: skip
    world.request(300.1, slow(first_decode_step=1.1), tpot=0.02, output=3000)
    assert causes(world) == {"orphaned_kv.expired_before_read": 1.0}


def test_what_a_request_waited_for_that_decode_never_took_is_not_guessed_at() -> None:
    world = World()
    for number in range(30):
        phases = {p: HEALTHY[p] for p in ("router_queue", "prefill_queue", "prefill_compute")}
        world.request(
            5.0 * number, phases | {"decode_queue": 30.0}, outcome=Outcome.TIMEOUT, lasted=30.4, tpot=None
        )
    assert causes(world) == {"insufficient_evidence": 1.0}


def test_follow_up_turns_prefilled_on_decode_on_purpose_are_no_recomputation() -> None:
    world = World()
    healthy(world)
    for number in range(10):
        world.request(
            300 + 3 * number,
            slow(first_decode_step=1.5, prefill_compute=0.1),
            local_prompt_tokens=200.0,
            appended=True,
            ttft_limit=9.0,
            account=0,
        )
    world.request(301, HEALTHY, tpot=0.09, output=200)
    found = causes(world)
    assert "interference.decode_recompute" not in found
    assert found["interference.prefill_in_step"] > 0.9


def test_prompts_in_the_steps_of_a_colocated_worker() -> None:
    world = World()
    for number in range(40):
        world.request(5.0 * number, HEALTHY, prefill_worker="one", decode_worker="one")
    for number in range(10):
        world.request(
            300.0 + number,
            slow(prefill_compute=0.6),
            prefill_worker="one",
            decode_worker="one",
            ttft_limit=9.0,
            account=0,
        )
    world.request(300, HEALTHY, tpot=0.09, output=100, prefill_worker="one", decode_worker="one")
    assert causes(world)["interference.prefill_in_step"] > 0.9


def test_a_request_set_aside_until_it_timed_out_is_preemption() -> None:
    world = World()
    healthy(world)
    world.request(
        300, HEALTHY, preempted=250.0, lasted=255.0, outcome=Outcome.TIMEOUT, answered=False, account=1
    )
    assert causes(world) == {"preemption": 1.0}


def test_slow_steps_of_a_pool_with_room_are_decode_bound_and_of_a_full_one_starvation() -> None:
    for used, cause in ((0.3, "decode_bound"), (0.97, "pool_imbalance.decode_starved")):
        world = World()
        healthy(world)
        for number in range(8):
            world.request(300 + 0.1 * number, HEALTHY, tpot=0.08, output=200)
        world.steady("kv_used_fraction", "decode-0", used)
        assert causes(world) == {cause: 1.0}


def test_attempts_that_were_given_up_cost_retry() -> None:
    world = World()
    healthy(world)
    row = world.request(300, HEALTHY, attempts=2, ttft=3.4, account=1)
    parts = world.rows[row]["exposed"]
    parts[10] = 3.0
    assert causes(world) == {"retry_amplification": 1.0}


def failing_hand_off(world: World, at: float, worker: str = "prefill-0", consumer: str = "decode-0") -> None:
    row = world.request(
        at,
        {p: HEALTHY[p] for p in ("router_queue", "prefill_queue", "prefill_compute", "kv_publish")},
        outcome=Outcome.ERROR,
        prefill_worker=worker,
        decode_worker=consumer,
        tpot=None,
    )
    world.hand_off(
        row, published=at + 0.33, freed=at + 0.4, freed_why=Freed.ABORTED, producer=worker, consumer=consumer
    )


def test_failing_hand_offs_between_sides_that_differ_are_a_version_mismatch() -> None:
    world = World()
    failing_hand_off(world, 100)
    world.worker("prefill-0", agreed={"connector_version": "1"})
    world.worker("decode-0", agreed={"connector_version": "2"})
    assert causes(world) == {"version_mismatch": 1.0}


@pytest.mark.parametrize("other", ["1", "2"])
def test_a_decode_pool_that_differs_as_a_whole_refused_what_left_no_span_there(other: str) -> None:
    world = World()
    failing_hand_off(world, 100, consumer="")
    world.worker("prefill-0", agreed={"connector_version": "1"})
    for name, version in (("decode-0", "2"), ("decode-1", other)):
        world.worker(name, "decode", agreed={"connector_version": version})
        world.steady("running", name, 0.0)
    found = "version_mismatch" if other == "2" else "orphaned_kv.unclaimed"
    assert causes(world) == {found: 1.0}


def test_failing_hand_offs_between_sides_that_agree_are_unclaimed_kv() -> None:
    world = World()
    failing_hand_off(world, 100)
    for name in ("prefill-0", "decode-0"):
        world.worker(name, agreed={"connector_version": "1"})
    assert causes(world) == {"orphaned_kv.unclaimed": 1.0}


def test_producers_that_keep_a_replaced_peer_fail_while_others_do_not() -> None:
    world = World()
    world.worker("decode-0", "decode", starts=(-9000.0, 60.0))
    for number in range(30):
        failing_hand_off(world, 100.0 + number, "prefill-1")
        row = world.request(100.5 + number, HEALTHY, prefill_worker="prefill-0")
        moved(world, row, 100.9 + number, 0.02)
        row = world.request(100.7 + number, HEALTHY, prefill_worker="prefill-2")
        moved(world, row, 101.1 + number, 0.02, producer="prefill-2")
    assert causes(world) == {"transfer_failure.stale_peer": 1.0}


def test_a_request_without_any_timeline_is_not_guessed_at() -> None:
    world = World()
    world.request(10, outcome=Outcome.ERROR, lasted=3.0, tpot=None)
    assert causes(world) == {"insufficient_evidence": 1.0}


def test_nothing_missed_nothing_to_say() -> None:
    world = World()
    healthy(world)
    assert causes(world) == {}


def test_shares_of_every_miss_add_up_to_one() -> None:
    world = World()
    healthy(world)
    random = np.random.default_rng(3)
    for _ in range(200):
        longer = {phase: float(random.exponential(0.4)) for phase in HEALTHY}
        world.request(float(random.uniform(0, 500)), longer, tpot=float(random.uniform(0.01, 0.12)))
    from analyzer.verdict.attribution import attribute

    with np.errstate(divide="ignore", invalid="ignore"):
        found = attribute(world.situation())
    assert len(found.shares) > 50
    np.testing.assert_allclose(found.shares.sum(axis=1), 1.0)
    assert (found.shares >= 0).all()


def test_slots_that_orphans_keep_are_theirs_however_much_room_the_cache_has() -> None:
    world = World()
    for number in range(224):  # twelve streams at once, until second 295
        world.request(1.25 * number, HEALTHY, tpot=0.03, output=500)
    for number in range(8):  # from then on eight slots are never given back
        row = world.request(300, {"router_queue": 0.01}, outcome=Outcome.CANCELLED, account=2, lasted=2.0)
        world.hand_off(row, reserved=300.0 + number / 10, reserved_until=301.0, reserved_tokens=1000.0)
    row = world.request(20, {"router_queue": 0.01}, outcome=Outcome.CANCELLED, account=2, lasted=2.0)
    world.hand_off(
        row, reserved=20.0, reserved_until=21.0, reserved_tokens=1000.0, given_back=22.0,
        given_back_why=Freed.ABORTED,
    )  # fmt: skip
    for number in range(80):  # four slots are left, and asked for by five
        world.request(300 + 3.0 * number, slow(decode_queue=0.7 * number), tpot=0.03, output=495)
    world.steady("kv_capacity_tokens", "decode-0", 1_000_000)
    world.steady("kv_used_fraction", "decode-0", 0.1)
    assert causes(world)["orphaned_kv.leaked"] > 0.9


def test_a_transfer_of_unknown_size_that_outweighs_the_rest_is_a_question() -> None:
    world = World()
    healthy(world)
    for number in range(20):
        at = 300.0 + 5 * number
        row = world.request(at, slow(kv_transfer=0.55, decode_queue=0.15))
        world.hand_off(
            row, published=at + 0.33, asked=at + 0.34, moved=at + 0.89, bytes=np.nan, tokens=np.nan
        )
    world.hand_offs = [hand_off | {"bytes": np.nan, "tokens": np.nan} for hand_off in world.hand_offs]
    assert causes(world)["insufficient_evidence"] > 0.7
