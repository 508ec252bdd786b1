"""Workers that influence each other, simulated twice by code that shares nothing."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from analyzer.plan import plain_clock, plain_loop
from analyzer.plan.layout import Colocated, Disaggregated, Layout, Pool, Routing, Settings, WorkerLoss
from analyzer.plan.outcome import End, Objective, Run, Window, figures
from analyzer.plan.plain_clock import Rules
from analyzer.plan.plain_loop import Trail
from analyzer.plan.simulate import simulate
from analyzer.plan.workload import Synthetic, Workload
from tests.plan.reference import EXACT, constants, rows

# without the explain phase, whose line tracing makes a step-by-step loop ten times slower
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
LAYOUTS: list[Layout] = [Colocated(2, 300), Disaggregated(1, 2), Disaggregated(2, 1), Disaggregated(2, 2)]


def plain(workload: Workload, layout: Layout, s: Settings) -> Trail:
    sizes = {"colocated": (layout.workers, layout.chunk)} if isinstance(layout, Colocated) else {
        "prefill": (layout.prefill, layout.prefill_budget), "decode": (layout.decode, 0)
    }  # fmt: skip
    lost = next(((str(loss.pool), loss.at_s) for loss in s.losses), None)
    least = s.routing is Routing.LEAST_LOADED
    lease = inf if isinstance(layout, Colocated) else s.lease_s
    rules = Rules(least, s.kv_tokens, lease, s.retries, s.retry_after_s, lost)
    return plain_clock.run(rows(workload), sizes, constants(s), rules)


def assert_same(run: Run, trail: Trail) -> None:
    for i, end in enumerate(run.end):
        assert trail.failed.get(i, "ok") == End(end).name.lower(), i
    ok = np.flatnonzero(run.end == End.OK)
    assert np.allclose(run.first_s[ok], [trail.first[i] for i in ok], rtol=0, atol=1e-8)
    assert np.allclose(run.last_s[ok], [trail.last[i] for i in ok], rtol=0, atol=1e-8)
    assert trail.retried == set(np.flatnonzero(run.attempts > 1))


@settings(max_examples=60, deadline=None, phases=PHASES)
@given(
    rate=st.floats(2, 30),
    seed=st.integers(0, 10_000),
    layout=st.sampled_from(LAYOUTS),
    kv=st.sampled_from([20_000.0, 60_000.0, inf]),
    lease=st.sampled_from([0.05, 2.0, inf]),
    routing=st.sampled_from(list(Routing)),
    retries=st.integers(0, 2),
    lost=st.none() | st.tuples(st.integers(0, 1), st.floats(0.01, 6)),
)
def test_the_simulator_and_single_steps_agree_whatever_ties_workers_together(
    rate: float, seed: int, layout: Layout, kv: float, lease: float, routing: Routing, retries: int,
    lost: tuple[int, float] | None,
) -> None:  # fmt: skip
    workload = Synthetic(rate, seed=seed, until_s=6).draw() if rate > 3 else Synthetic(9, until_s=3).draw()
    pools = [Pool.COLOCATED] * 2 if isinstance(layout, Colocated) else [Pool.PREFILL, Pool.DECODE]
    sizes = {Pool.COLOCATED: layout.workers}
    if isinstance(layout, Disaggregated):
        sizes = {Pool.PREFILL: layout.prefill, Pool.DECODE: layout.decode}
    losses = (WorkerLoss(pools[lost[0]], 0, lost[1]),) if lost and sizes[pools[lost[0]]] > 1 else ()
    transfer = replace(EXACT.transfer, overhead_s=0.003)
    chosen = replace(
        EXACT, transfer=transfer, kv_tokens=kv, lease_s=lease, routing=routing, retries=retries,
        retry_after_s=0.01, losses=losses,
    )  # fmt: skip

    assert_same(simulate(workload, layout, chosen), plain(workload, layout, chosen))


@pytest.mark.parametrize("layout", [Colocated(3, 512), Disaggregated(2, 2)])
def test_figures_under_a_lost_worker_agree_to_a_nanosecond(layout: Layout) -> None:
    workload = Synthetic(16, until_s=40).draw()
    pool = Pool.COLOCATED if isinstance(layout, Colocated) else Pool.DECODE
    chosen = replace(EXACT, retries=1, losses=(WorkerLoss(pool, 0, 12.0),))

    ours = figures(simulate(workload, layout, chosen), Objective(), Window(5, 35))
    theirs = plain_loop.figures(plain(workload, layout, chosen), rows(workload), (5, 35), 2.0, 0.012)

    assert ours.retried > 0
    for name, value in theirs.items():
        assert value is not None
        assert abs(getattr(ours, name) - value) < 1e-9, name
