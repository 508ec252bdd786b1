"""Grids, degraded modes, the transfer budget and what is recommended from them."""

from dataclasses import replace
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from analyzer.plan.autoscaling import signals
from analyzer.plan.degraded import Mode, degraded
from analyzer.plan.demand import demands
from analyzer.plan.deployment import Deployment
from analyzer.plan.errors import BadPlan
from analyzer.plan.evaluate import Contract
from analyzer.plan.kv_cost import Link
from analyzer.plan.layout import Colocated, parse_layout
from analyzer.plan.observed_plan import Asked, plan_workload
from analyzer.plan.outcome import Objective, Window
from analyzer.plan.plots import PLOTS
from analyzer.plan.receipt import Source
from analyzer.plan.transfer_budget import transfer_budget
from analyzer.plan.whatif import Answer, Grid, prepare, run
from analyzer.plan.workload import Synthetic
from tests.plan.reference import EXACT

CONTRACT = Contract()
WORKLOAD = {rate: Synthetic(rate).draw() for rate in (4, 12)}
SLOW_LINK = replace(EXACT, transfer=replace(EXACT.transfer, link=Link(1, 2e9, 1.0)))


def answer(
    rate: int, grid: Grid, settings: Any = EXACT, served: str | None = None, **contract: Any
) -> Answer:
    plan = prepare(
        WORKLOAD[rate],
        settings,
        replace(CONTRACT, **contract),
        grid,
        parse_layout(served) if served else None,
    )
    return run(plan, processes=1)


@pytest.fixture(scope="module")
def calm() -> Answer:
    return answer(4, Grid(2, (512, 2048)), served="1P+1D")


@pytest.fixture(scope="module")
def strict() -> Answer:
    """Steps that share prompts miss this TPOT; a decode pool does not."""
    return answer(4, Grid(2, (512,)), objective=Objective(2.0, 0.0068))


def test_colocated_is_enough_where_it_is_and_the_fewest_workers_win(calm: Answer) -> None:
    chosen = calm.recommendation

    assert chosen.layout == Colocated(1, 512)
    assert chosen.statement.startswith("Colocated is enough: 1x512 is the smallest layout tried")
    assert "(modelled)" in chosen.statement
    assert chosen.considered[0].startswith("Chunked prefill first: 1x512 is enough")


def test_lanes_say_which_pool_shrinks_and_which_grows(calm: Answer, strict: Answer) -> None:
    assert {lane.pool: lane.change for lane in calm.recommendation.lanes} == {
        "prefill": "closes", "decode": "closes", "colocated": "opens",
    }  # fmt: skip
    grown = answer(12, Grid(3, (512,), degraded=False), served="1P+1D", objective=Objective(2.0, 0.0085))
    assert grown.recommendation.layout == parse_layout("2P+1D")
    assert {lane.pool: (lane.change, lane.now, lane.then) for lane in grown.recommendation.lanes} == {
        "prefill": ("grows", 1, 2), "decode": ("stays", 1, 1),
    }  # fmt: skip


def test_two_pools_are_recommended_where_chunked_prefill_was_tried_and_is_not_enough(strict: Answer) -> None:
    chosen = strict.recommendation

    assert chosen.layout == parse_layout("1P+1D")
    assert chosen.considered[0].startswith("Chunked prefill first: none of 2 tried is enough")
    assert {r.layout.name for r in chosen.rejected} == {"2x512", "1x512"}
    assert all(r.reasons for r in chosen.rejected)


def test_headroom_counts() -> None:
    tight = answer(12, Grid(3, (512,), headroom=0.0, degraded=False))
    roomy = answer(12, Grid(3, (512,), headroom=1.0, degraded=False))

    assert tight.recommendation.layout == Colocated(3, 512)
    assert roomy.recommendation.layout is None
    assert roomy.recommendation.statement.startswith("No layout tried meets the contract with 100% headroom")
    assert roomy.signals == ()


def test_a_link_that_takes_most_of_ttft_refuses_two_pools_whatever_the_simulation_says() -> None:
    found = answer(4, Grid(2, (512,), degraded=False), SLOW_LINK, objective=Objective(2.0, 0.0068))

    assert found.plan.budget.refused is not None
    assert found.recommendation.layout is None
    (why,) = [r.reasons for r in found.recommendation.rejected if r.layout.name == "1P+1D"]
    assert any(reason.startswith("transfer budget: handing over a p95 prompt of") for reason in why)


def test_the_transfer_budget_is_conservative() -> None:
    usual = transfer_budget(WORKLOAD[4], EXACT, 2.0, None)
    slower = transfer_budget(WORKLOAD[4], EXACT, 2.0, 1e9)

    assert usual.refused is None
    assert usual.transfer_s == pytest.approx(usual.prompt_tokens * 327_680 / 320e9)
    assert slower.refused is not None
    assert transfer_budget(WORKLOAD[4], EXACT, 0.01, None).left == -1.0
    with pytest.raises(BadPlan, match="transfer reserve is 1"):
        transfer_budget(WORKLOAD[4], EXACT, 2.0, None, reserve=1)


def test_every_layout_of_full_size_is_also_tried_degraded(calm: Answer) -> None:
    modes = {(f.layout.name, f.mode, f.serves.name) for f in calm.failures}

    assert modes == {
        ("2x512", Mode.WORKER_LOST, "2x512"),
        ("2x2048", Mode.WORKER_LOST, "2x2048"),
        ("1P+1D", Mode.PREFILL_LOST, "1x512"),
        ("1P+1D", Mode.DECODE_LOST, "1x512"),
        ("1P+1D", Mode.LINK_LOST, "2x512"),
    }
    lost = next(f for f in calm.failures if f.serves == parse_layout("2x512") and f.mode is Mode.WORKER_LOST)
    intact = next(e for e in calm.evaluations if e.layout == parse_layout("2x512"))
    assert lost.figures.measured == intact.figures.measured
    assert (lost.figures.ttft95_s or 0) > (intact.figures.ttft95_s or 0)


def test_the_last_worker_cannot_be_lost() -> None:
    assert degraded(parse_layout("1x512"), EXACT, 30.0, 512) == []


@pytest.mark.parametrize(
    ("grid", "problem"),
    [
        ({"workers": 0}, "workers is 0"),
        ({"workers": 2000}, "workers is 2000"),
        ({"workers": 100}, "the limit is 2,000"),
        ({"workers": 4, "chunks": ()}, "no chunk budget"),
        ({"workers": 4, "headroom": -0.1}, "headroom is -0.1"),
        ({"workers": 4, "headroom": float("nan")}, "headroom is nan"),
    ],
)
def test_a_grid_that_makes_no_sense_or_explodes_is_refused_at_once(
    grid: dict[str, Any], problem: str
) -> None:
    with pytest.raises(BadPlan, match=problem):
        Grid(**grid)


def test_what_will_be_simulated_is_known_before_it_starts(calm: Answer) -> None:
    assert calm.plan.announcement.startswith("5 layouts, 5 degraded modes: 12 simulations, ")


def test_a_layout_that_cannot_run_is_refused_before_any_does() -> None:
    with pytest.raises(BadPlan, match="a chunk of 128 tokens has no room"):
        prepare(WORKLOAD[4], EXACT, CONTRACT, Grid(2, (128,)))


def test_signals_of_every_pool_leave_room_between_in_and_out() -> None:
    mean = demands(WORKLOAD[12])[0]

    found = {(s.pool, s.signal): s for s in signals(parse_layout("2P+2D"), mean, EXACT, CONTRACT)}

    prompts = found["prefill", "prompt_tokens_total{source=local}"]
    assert prompts.out == pytest.approx(0.85 * 16_384 / EXACT.model.step_s(0, 16_384))
    assert prompts.in_below == pytest.approx(prompts.out * 0.8 / 2)
    assert found["prefill", "queue_depth"].out > 1
    assert 1 < found["decode", "running"].out < 256
    assert ("decode", "kv_used_fraction") not in found
    limited = signals(parse_layout("2x512"), mean, replace(EXACT, kv_tokens=1e6), CONTRACT)
    assert {s.signal for s in limited} >= {"running", "queue_depth", "kv_used_fraction"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    spec, facts = Synthetic(12), Deployment()
    asked = Asked(grid=Grid(2, (512,)))
    result = plan_workload(
        spec.draw(), Source.synthetic(spec), facts.settings(), facts.inputs("a test"), 8, asked,
        asked.contract(Window()), "2026-11-29T00:00:00+00:00",
    )  # fmt: skip
    return result.document


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("width", [260, 800])
def test_plots_are_svg_within_their_width(document: dict[str, Any], plot: str, width: int) -> None:
    root = ElementTree.fromstring(PLOTS[plot](document, width).svg())

    xs = [float(e.get(name, 0)) for e in root.iter() for name in ("x", "cx", "x1", "x2")]
    assert root.get("width") == str(width)
    assert "modelled" in root.get("aria-label", "")
    assert max(xs) <= width
    assert min(xs) >= 0
    assert len(list(root)) > 10


def test_a_layout_in_a_plot_says_its_figures_to_the_pointer(document: dict[str, Any]) -> None:
    drawn = PLOTS["frontier"](document, 800).svg()

    assert "2x512: TTFT95" in drawn
    assert "% met" in drawn


@pytest.mark.parametrize("plot", PLOTS)
def test_plots_of_a_document_without_figures_say_so_and_do_not_fail(
    document: dict[str, Any], plot: str
) -> None:
    nothing = {"ttft95_s": None, "tpot95_s": None, "met": None, "goodput_rps": 0.0, "reasons": ["x"]}
    empty = {
        **document,
        "scenarios": [{**row, **nothing} for row in document["scenarios"]],
        "one_request": None,
    }

    ElementTree.fromstring(PLOTS[plot](empty, 400).svg())


def test_paths_of_one_request_add_up(document: dict[str, Any]) -> None:
    for path in document["one_request"]["paths"]:
        parts = path["parts"]
        assert parts[0]["start_s"] >= 0
        assert all(a["end_s"] == pytest.approx(b["start_s"]) for a, b in pairwise(parts))
        before = [part["end_s"] for part in parts if part["part"] not in ("decode", "decode_queue")]
        assert path["ttft_s"] == pytest.approx(before[-1])
