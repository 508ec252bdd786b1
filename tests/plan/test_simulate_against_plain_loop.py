"""Three ways to the same figures: closed-form stretches, one clock for all workers, and step by step."""

from dataclasses import replace

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from analyzer.plan import plain_loop
from analyzer.plan.coupled import run_coupled
from analyzer.plan.layout import Colocated, Disaggregated, Layout, Settings
from analyzer.plan.outcome import End, Objective, Run, Window, figures, step_percentile
from analyzer.plan.plain_loop import Trail
from analyzer.plan.provenance import Label
from analyzer.plan.simulate import simulate
from analyzer.plan.workload import Synthetic, Workload, from_rows
from tests.plan.reference import EXACT, constants, rows

# without the explain phase, whose line tracing makes a step-by-step loop ten times slower
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)

LAYOUTS: list[Layout] = [
    Colocated(1, 300),
    Colocated(3, 2048),
    Disaggregated(1, 1, 512),
    Disaggregated(2, 3),
    Disaggregated(3, 1),
]


def plain(workload: Workload, layout: Layout, given_: Settings) -> Trail:
    if isinstance(layout, Colocated):
        return plain_loop.colocated(rows(workload), layout.workers, layout.chunk, constants(given_))
    return plain_loop.disaggregated(
        rows(workload), layout.prefill, layout.decode, layout.prefill_budget, constants(given_)
    )


def assert_same(run: Run, trail: Trail) -> None:
    n = len(run.workload)
    assert np.all(run.end == End.OK)
    assert np.allclose(run.first_s, [trail.first[i] for i in range(n)], rtol=0, atol=1e-8)
    assert np.allclose(run.last_s, [trail.last[i] for i in range(n)], rtol=0, atol=1e-8)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Bursts, long prompts, single tokens and cached prefixes, not too regular to tell steps apart."""
    n = draw(st.integers(1, 25))
    at, out = 0.0, []
    for _ in range(n):
        at += draw(st.floats(0.0, 1.0, allow_subnormal=False)) ** 4 * 3.0
        prompt = draw(st.integers(1, 20_000))
        cached = draw(st.sampled_from([0, 0, prompt - 1, prompt // 2]))
        out.append((at, prompt, draw(st.sampled_from([1, 1, 2, 3, 40, 700])), min(cached, prompt - 1)))
    return from_rows(out, Label.SUPPLIED, "drawn by hypothesis")


@settings(max_examples=80, deadline=None, phases=PHASES)
@given(workloads(), st.sampled_from(LAYOUTS), st.booleans(), st.booleans(), st.sampled_from([1, 4, 256]))
def test_stretches_and_one_clock_agree_with_single_steps(
    workload: Workload, layout: Layout, exact: bool, overlap: bool, max_seqs: int
) -> None:
    transfer = replace(EXACT.transfer, overlap=overlap, overhead_s=0.003)
    chosen = replace(EXACT, exact=exact, transfer=transfer, max_seqs=max_seqs)
    trail = plain(workload, layout, chosen)

    assert_same(simulate(workload, layout, chosen), trail)
    assert_same(run_coupled(workload, layout, chosen), trail)


def test_figures_agree_with_the_plain_loop_to_a_nanosecond() -> None:
    workload = Synthetic(16, until_s=60).draw()
    layout = Disaggregated(2, 2)
    window = Window(8, 52)

    ours = figures(simulate(workload, layout, EXACT), Objective(), window)
    theirs = plain_loop.figures(plain(workload, layout, EXACT), rows(workload), (8, 52), 2.0, 0.012)

    for name, value in theirs.items():
        assert value is not None
        assert abs(getattr(ours, name) - value) < 1e-9, name


def test_a_batch_large_enough_to_be_compute_bound_agrees_too() -> None:
    rows_ = [(0.001 * k, 50, 300, 0) for k in range(250)]
    workload = from_rows(rows_, Label.SUPPLIED, "250 short prompts at once")
    layout = Disaggregated(1, 1)

    run = simulate(workload, layout, EXACT)

    assert EXACT.model.compute_s_per_token * 250 > EXACT.model.weights_s  # else this tests nothing
    assert_same(run, plain(workload, layout, EXACT))
    assert_same(run_coupled(workload, layout, EXACT), plain(workload, layout, EXACT))


def test_an_arrival_late_in_a_growing_stretch_still_cuts_it() -> None:
    """The stretch's steps, all as short as its first, would end before the arrival; they do not."""
    model, batch, prompt, steps = EXACT.model, 60, 20, 1499
    memory = model.weights_s + model.context_s_per_token * batch * prompt
    flat = steps * (memory + model.overhead_s)
    last = flat + model.context_s_per_token * batch * steps * (steps - 1) / 2
    crowd = [(0.0, prompt, steps + 1, 0)] * batch
    workload = from_rows([*crowd, ((flat + last) / 2, 20, 50, 0)], Label.SUPPLIED, "a crowd, then one")
    layout = Disaggregated(1, 1)

    assert last - flat > 10 * model.step_s(0, 1)  # else this tests nothing
    assert_same(simulate(workload, layout, EXACT), plain(workload, layout, EXACT))
    assert_same(run_coupled(workload, layout, EXACT), plain(workload, layout, EXACT))


@settings(max_examples=200, deadline=None, phases=PHASES)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 40), st.integers(1, 9), st.sampled_from([6e-3, 6.5e-3, 16e-3]),
            st.sampled_from([0.0, 1e-8, 3e-7]),
        ),
        min_size=1, max_size=200,
    ),
    st.sampled_from([0.0, 0.5, 0.99]),
)  # fmt: skip
def test_step_percentiles_are_those_of_the_listed_steps(
    rows_: list[tuple[int, int, float, float]], q: float
) -> None:
    stretches = np.array([(1.0, n, b, first, growth) for n, b, first, growth in rows_], float)
    listed = sorted((first + growth * j, b) for n, b, first, growth in rows_ for j in range(n))

    found = step_percentile(stretches, Window(0, 1e6), q)

    assert (
        found == plain_loop._weighted(listed, q)
        or abs(found - (plain_loop._weighted(listed, q) or 0)) < 1e-12
    )
