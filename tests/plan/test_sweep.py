"""Sweeps: order, progress, processes, and grids refused before they start."""

import time
from dataclasses import replace

import pytest

from analyzer.plan.errors import BadPlan
from analyzer.plan.evaluate import Contract, evaluate, grid
from analyzer.plan.layout import Colocated, Disaggregated, parse_layout
from analyzer.plan.outcome import Window
from analyzer.plan.sweep import Case, cost, sweep
from analyzer.plan.workload import Synthetic
from tests.plan.reference import EXACT

SHORT = Contract(window=Window(30, 210))


def test_a_grid_holds_every_layout_of_equal_accelerators() -> None:
    layouts = grid(4, (512, 2048))

    assert [layout.name for layout in layouts] == ["4x512", "4x2048", "1P+3D", "2P+2D", "3P+1D"]
    assert {layout.workers for layout in layouts} == {4}


def test_processes_give_the_same_as_one_by_one_and_report_each() -> None:
    workloads = [Synthetic(rate, until_s=240).draw() for rate in (8, 16, 24)]
    layouts = grid(4, (512, 1024, 2048))
    seen: list[tuple[int, int]] = []

    found = sweep(workloads, layouts, EXACT, SHORT, lambda done, of: seen.append((done, of)), processes=2)

    assert len(layouts) * sum(map(len, workloads)) > 60_000  # enough for processes to be used
    assert seen == [(k, 18) for k in range(1, 19)]
    assert [(e.layout.name, e.workload) for e in found] == [
        (layout.name, w.origin) for layout in layouts for w in workloads
    ]
    assert found[16] == evaluate(workloads[1], layouts[5], EXACT, SHORT)


def test_a_grid_that_explodes_is_refused_before_it_starts() -> None:
    workload = Synthetic(100, until_s=600).draw()
    begun = time.perf_counter()

    with pytest.raises(BadPlan, match="the limit is 50000000"):
        sweep([workload], [Colocated(n, 512) for n in range(1, 1001)], EXACT, SHORT)

    assert time.perf_counter() - begun < 1


def test_a_layout_that_cannot_run_is_refused_before_any_does() -> None:
    done: list[int] = []

    with pytest.raises(BadPlan, match="4x128: a chunk of 128 tokens has no room"):
        sweep(
            [Synthetic(8).draw()],
            [Colocated(4, 512), Colocated(4, 128)],
            EXACT,
            SHORT,
            lambda n, of: done.append(n),
        )

    assert not done


def test_an_overloaded_layout_is_refused_with_queue_and_attainment() -> None:
    result = evaluate(Synthetic(16).draw(), Disaggregated(1, 3), EXACT, Contract())

    assert not result.accepted
    assert any(reason.startswith("prefill at 1.31") for reason in result.reasons)
    assert any(reason.startswith("0.0 % of requests") for reason in result.reasons)


@pytest.mark.parametrize(
    "text", ["", "4x", "x512", "0P+4D", "4P+0D", "-1x512", "4 x 512", "9999x512", "4x0", "P+D"]
)
def test_a_layout_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(BadPlan):
        parse_layout(text)


@pytest.mark.parametrize("budget", [0, 10**8, 10**400])
def test_a_step_budget_that_no_receipt_holds_is_refused(budget: int) -> None:
    for make in (lambda: Colocated(1, budget), lambda: Disaggregated(1, 1, budget)):
        with pytest.raises(BadPlan, match="at most 10,000,000"):
            make()


def test_retries_count_as_the_work_they_may_become() -> None:
    workload = Synthetic(1.0, until_s=20).draw()
    case = Case(0, Disaggregated(1, 1), replace(EXACT, lease_s=1e-6), Contract())
    often = replace(case, settings=replace(case.settings, retries=999))
    assert cost([workload], [often]) == 999 * cost([workload], [case])
