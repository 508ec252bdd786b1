"""Workers that influence each other: KV room, routing, leases, retries and lost workers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from analyzer.plan.errors import BadPlan
from analyzer.plan.layout import Colocated, Disaggregated, Layout, Pool, Routing, WorkerLoss, parse_loss
from analyzer.plan.outcome import End, Objective, Window, figures
from analyzer.plan.provenance import Label
from analyzer.plan.simulate import simulate
from analyzer.plan.workload import Synthetic, Workload, from_rows
from tests.plan.reference import EXACT

# without the explain phase, whose line tracing makes a simulation ten times slower
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)

WINDOW = Window(-1, 1e9)


def supplied(*rows: tuple[float, int, int, int]) -> Workload:
    return from_rows(rows, Label.SUPPLIED, "test")


def test_full_decode_kv_holds_the_hand_off_and_then_the_prefill() -> None:
    workload = supplied((0.0, 1000, 100, 0), (0.0, 1000, 100, 0), (0.0, 1000, 100, 0))
    free = simulate(workload, Disaggregated(1, 1), EXACT)
    tight = simulate(workload, Disaggregated(1, 1), replace(EXACT, kv_tokens=1100))

    assert np.all(tight.end == End.OK)
    # one at a time: the second gets its KV when the first has left the decode worker
    assert tight.first_s[1] >= tight.last_s[0]
    assert tight.first_s[2] >= tight.last_s[1]
    assert free.first_s[2] < free.last_s[0]


def test_a_hand_off_that_waited_pays_the_whole_transfer() -> None:
    workload = supplied((0.0, 1000, 100, 0), (0.0, 1000, 100, 0))

    run = simulate(workload, Disaggregated(1, 1), replace(EXACT, kv_tokens=1100))

    assert run.first_s[1] - run.last_s[0] == pytest.approx(EXACT.transfer.wire_s(1000))


def test_a_request_larger_than_the_kv_is_refused_and_the_rest_go_on() -> None:
    workload = supplied((0.0, 1000, 100, 0), (0.0, 5000, 100, 0), (0.0, 900, 100, 0))
    for layout in (Disaggregated(1, 1), Colocated(1, 512)):
        run = simulate(workload, layout, replace(EXACT, kv_tokens=1100))

        assert run.end.tolist() == [End.OK, End.TOO_LARGE, End.OK]


def test_least_loaded_spreads_what_round_robin_stacks() -> None:
    rows = [(0.01 * k, 16_000 if k % 2 == 0 else 16, 2, 0) for k in range(40)]
    robin = simulate(supplied(*rows), Disaggregated(2, 1), EXACT)
    least = simulate(supplied(*rows), Disaggregated(2, 1), replace(EXACT, routing=Routing.LEAST_LOADED))

    assert least.first_s.max() < 0.7 * robin.first_s.max()


def test_a_lease_shorter_than_the_hand_off_fails_without_retries() -> None:
    workload = supplied((0.0, 4000, 50, 0))
    transfer = replace(EXACT.transfer, overhead_s=0.5)

    run = simulate(workload, Disaggregated(1, 1), replace(EXACT, transfer=transfer, lease_s=0.2))

    assert run.end.tolist() == [End.LEASE]
    assert np.isnan(run.first_s[0])


def test_an_ended_lease_is_retried_from_the_prompt() -> None:
    """Decode KV is full until the first request leaves: the second's lease ends, its second try succeeds."""
    workload = supplied((0.0, 1000, 200, 0), (0.0, 1000, 20, 0))
    chosen = replace(EXACT, kv_tokens=1200, lease_s=1.0, retries=1, retry_after_s=0.1)

    run = simulate(workload, Disaggregated(1, 1), chosen)

    assert run.end.tolist() == [End.OK, End.OK]
    assert run.attempts.tolist() == [1, 2]


def test_losing_a_decode_worker_costs_its_requests_unless_they_are_retried() -> None:
    workload = supplied(*((0.1 * k, 500, 400, 0) for k in range(20)))
    loss = (WorkerLoss(Pool.DECODE, 0, 1.0),)

    lost = simulate(workload, Disaggregated(1, 2), replace(EXACT, losses=loss))
    retried = simulate(workload, Disaggregated(1, 2), replace(EXACT, losses=loss, retries=1))

    assert (lost.end == End.WORKER_LOST).sum() > 0
    assert np.all(retried.end == End.OK)
    assert ((lost.end == End.WORKER_LOST) == (retried.attempts == 2)).all()
    assert np.all(np.isfinite(retried.first_s))


def test_a_retry_does_not_move_a_first_token_the_client_has_seen() -> None:
    workload = supplied((0.0, 500, 400, 0))
    base = simulate(workload, Disaggregated(1, 1), EXACT)
    loss = (WorkerLoss(Pool.DECODE, 0, 1.0, back_s=5.0),)

    run = simulate(workload, Disaggregated(1, 1), replace(EXACT, losses=loss, retries=1))

    assert run.first_s[0] == base.first_s[0]
    assert run.last_s[0] > 5.0 + (base.last_s[0] - base.first_s[0])


def test_without_a_worker_left_requests_are_lost_and_after_its_return_served() -> None:
    workload = supplied((2.0, 500, 20, 0))
    for back, end in ((float("inf"), End.WORKER_LOST), (4.0, End.OK)):
        loss = (WorkerLoss(Pool.COLOCATED, 0, 1.0, back),)
        run = simulate(workload, Colocated(1, 512), replace(EXACT, losses=loss))

        assert run.end.tolist() == [end]


def test_a_lost_prefill_worker_takes_the_kv_nobody_has_read_yet() -> None:
    workload = supplied((0.0, 1000, 300, 0), (0.0, 1000, 10, 0))
    loss = (WorkerLoss(Pool.PREFILL, 0, 0.5, 0.6),)

    run = simulate(workload, Disaggregated(1, 1), replace(EXACT, kv_tokens=1300, losses=loss))

    assert run.end.tolist() == [End.OK, End.WORKER_LOST]  # the first was already on decode


LAYOUTS: list[Layout] = [Colocated(2, 300), Disaggregated(1, 2), Disaggregated(2, 1), Disaggregated(2, 2)]


@settings(max_examples=60, deadline=None, phases=PHASES)
@given(
    rate=st.floats(1, 40),
    seed=st.integers(0, 10_000),
    layout=st.sampled_from(LAYOUTS),
    kv=st.sampled_from([20_000.0, 60_000.0, float("inf")]),
    lease=st.sampled_from([0.05, 2.0, float("inf")]),
    routing=st.sampled_from(list(Routing)),
    retries=st.integers(0, 2),
    losses=st.lists(st.tuples(st.integers(0, 1), st.floats(0, 8), st.floats(0.1, 5)), max_size=3),
)
def test_every_request_ends_whatever_goes_wrong(
    rate: float, seed: int, layout: Layout, kv: float, lease: float, routing: Routing, retries: int,
    losses: list[tuple[int, float, float]],
) -> None:  # fmt: skip
    workload = Synthetic(rate, seed=seed, until_s=8).draw() if rate > 2 else supplied((0.0, 9000, 90, 0))
    pool = Pool.COLOCATED if isinstance(layout, Colocated) else Pool.PREFILL
    pools = [pool, Pool.COLOCATED if isinstance(layout, Colocated) else Pool.DECODE]
    chosen = tuple(WorkerLoss(pools[which], 0, at, at + out) for which, at, out in losses)
    given_ = replace(
        EXACT,
        kv_tokens=kv,
        lease_s=lease,
        routing=routing,
        retries=retries,
        retry_after_s=0.01,
        losses=chosen,
    )

    run = simulate(workload, layout, given_)

    assert not np.any(run.end == End.STUCK)
    ok = run.end == End.OK
    assert np.all(run.first_s[ok] >= np.array(workload.arrival_s)[ok])
    assert np.all(run.last_s[ok] >= run.first_s[ok])
    assert np.all(run.attempts <= retries + 1)
    found = figures(run, Objective(), WINDOW)
    assert found.measured == len(workload)
    assert found.met_count <= found.measured - sum(found.failed.values())


@pytest.mark.parametrize(
    "text", ["decode", "decode:0", "decode:x:1", "gpu:0:1", "decode:0:1:2:3", "decode:0:9:3"]
)
def test_a_loss_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(BadPlan):
        parse_loss(text)
