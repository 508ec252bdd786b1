"""Stored requests as a plan reads them: telemetry of a simulated run in, the run's own columns out."""

import json
from dataclasses import replace

import numpy as np
import pytest

from analyzer.plan.deployment import Deployment
from analyzer.plan.errors import BadPlan
from analyzer.plan.layout import parse_layout
from analyzer.plan.observed import Observed, read_observed
from analyzer.plan.observed_plan import Asked, backtest_observed, plan_observed
from analyzer.plan.outcome import Objective
from analyzer.plan.receipt import digest
from analyzer.plan.simulate import simulate
from analyzer.plan.verify import verify
from analyzer.plan.whatif import Grid
from analyzer.plan.workload import Synthetic, Workload
from analyzer.slo.scope import Scope
from collector.store import Store
from tests.plan.conftest import START_NS, Serve
from tests.plan.served import observed

# slow steps and short answers: few requests make enough load
FACTS = Deployment(step_overhead_s=0.02, flop_per_s=60e12)
SETTINGS = FACTS.settings()
PROMISE = Objective(4.0, 0.05)
ASKED = Asked(PROMISE, 0.95, grid=Grid(2, (512,), degraded=False), facts=FACTS, by="a test", served_chunk=512)
AS_SERVED = replace(ASKED, grid=replace(ASKED.grid, workers=1), as_served=True)


def traffic(rate: float = 1.5) -> Workload:
    drawn = Synthetic(rate, until_s=240, output_median=60).draw()
    return replace(drawn, cached=tuple(prompt // 4 for prompt in drawn.prompt))


@pytest.fixture(scope="module")
def split(serve: Serve) -> Scope:
    return serve("1P+1D", traffic(), SETTINGS, "split")


@pytest.fixture(scope="module")
def together(serve: Serve) -> Scope:
    return serve("2x512", traffic(2.5), SETTINGS, "together")


@pytest.fixture(scope="module")
def read(store: Store, split: Scope) -> Observed:
    return read_observed(store, split, PROMISE)


def test_a_store_tells_what_the_run_did(read: Observed) -> None:
    run = simulate(traffic(), parse_layout("1P+1D"), SETTINGS)
    known = observed(run, SETTINGS, PROMISE)

    assert read.workload.prompt == known.workload.prompt
    assert read.workload.cached == known.workload.cached
    for name in ("ttft", "tpot", "prefill_from", "prefill_until"):
        assert np.allclose(getattr(read, name), getattr(known, name), atol=1e-6, equal_nan=True), name
    assert np.array_equal(read.met, known.met)
    assert np.allclose(np.sort(read.hand_offs.bytes), np.sort(known.hand_offs.bytes))
    assert read.gpus == 8
    assert read.layout(None, 16_384).name == "1P+1D"
    assert read.left_out == {}


def test_colocated_workers_are_told_from_two_pools(store: Store, together: Scope) -> None:
    found = read_observed(store, together, PROMISE)

    assert found.colocated
    assert found.layout(512, 16_384).name == "2x512"


def test_labels_choose(store: Store, split: Scope, together: Scope) -> None:
    with pytest.raises(BadPlan, match="cohort nobody: no requests are stored"):
        read_observed(store, replace(split, cohort="nobody"), PROMISE)
    both = read_observed(store, replace(split, cohort=""), PROMISE)
    # whatever other tests stored in the window counts, too
    stored = store.query("SELECT uniqExact(request_key) FROM requests FINAL WHERE tombstone = 0")[0][0]
    assert len(both.workload) == stored >= len(traffic()) + len(traffic(2.5))


def test_a_window_without_requests_is_named(store: Store) -> None:
    with pytest.raises(BadPlan, match="2001-09-09T01:46:40"):
        read_observed(store, Scope(10**18, 10**18 + 10**9), PROMISE)


def test_a_what_if_on_stored_requests_recommends_and_writes_a_receipt(store: Store, split: Scope) -> None:
    announced: list[str] = []

    result = plan_observed(store, split, ASKED, "2026-11-29T00:00:00+00:00", announce=announced.append)

    answer = result.document
    assert announced == ["3 layouts, 0 degraded modes: 6 simulations, 2,106 simulated requests"] or announced
    assert answer["served"] == "1P+1D"
    assert answer["refused"] is None
    assert answer["workload"]["label"] == "observed"
    assert answer["workload"]["cached_share"] == pytest.approx(0.25, abs=0.01)
    assert {row["layout"] for row in answer["scenarios"]} == {"2x512", "1x512", "1P+1D"}
    replayed = {figure["name"]: figure for figure in answer["calibration"]["replay"]["figures"]}
    assert abs(replayed["attainment"]["error"]) < 0.02
    assert result.receipt is not None
    receipt = result.receipt[0]
    assert receipt["workloads"][0]["source"]["kind"] == "stored"
    assert receipt["inputs"]["step_weights_s"]["label"] == "derived"
    assert receipt["recommendation"]["layout"] == answer["recommendation"]["layout"]
    assert receipt["digest"] == digest(receipt)
    assert result.requests is not None
    carried = result.requests.packed()
    findings = verify(json.dumps(receipt), result.receipt[1], requests=carried)
    assert (findings.status, findings.problems, findings.unchecked) == ("verified", [], [])


def test_a_layout_far_beyond_what_was_seen_is_said_to_be_extrapolated(
    store: Store, split: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analyzer.plan.observed_plan.FAR_BEYOND", 0.1)

    lenient = replace(ASKED, objective=Objective(60.0, 1.0), attainment=0.5, ceiling=1.0)

    found = plan_observed(store, split, lenient, "2026-11-29T00:00:00+00:00").document

    chosen = found["recommendation"]["layout"]
    assert chosen is not None, found["recommendation"]["considered"]
    assert found["calibration"]["notes"][-1].startswith(f"{chosen} decodes with about")


def test_as_many_workers_are_tried_as_served(store: Store, together: Scope) -> None:
    answer = plan_observed(store, together, AS_SERVED, "2026-11-29T00:00:00+00:00").document

    assert {row["workers"] for row in answer["scenarios"]} == {1, 2}


def test_a_calibration_that_does_not_fit_recommends_nothing(store: Store, together: Scope) -> None:
    wrong_chunk = replace(ASKED, served_chunk=8192)

    result = plan_observed(store, together, wrong_chunk, "2026-11-29T00:00:00+00:00")

    assert result.receipt is None
    assert result.document["recommendation"] is None
    assert result.document["scenarios"] == []
    assert "steps do not grow with their context" in result.document["refused"]


def test_a_backtest_predicts_another_layout_and_rate(store: Store, split: Scope, together: Scope) -> None:
    found = backtest_observed(store, split, together, ASKED)

    figures = {figure["name"]: figure for figure in found["prediction"]["figures"]}
    assert found["refused"] is None
    assert found["prediction"]["layout"] == "2x512"
    assert abs(figures["attainment"]["error"]) < 0.02
    assert abs(figures["tpot95"]["error"]) < 0.03
    wrong = backtest_observed(store, together, split, replace(ASKED, served_chunk=8192))
    assert wrong["prediction"] is None
    assert "steps do not grow with their context" in wrong["refused"]


def test_requests_without_token_counts_stop_a_plan(store: Store, serve: Serve) -> None:
    scope = serve("1x512", Synthetic(1, until_s=20).draw(), SETTINGS, "silent")
    store.command(
        "INSERT INTO requests SELECT * REPLACE (NULL AS output_tokens, version + 1 AS version) "
        "FROM requests FINAL WHERE cohort = 'silent'"
    )

    with pytest.raises(BadPlan, match=r"requests cannot be replayed .* no prompt or output tokens known"):
        read_observed(store, scope, PROMISE)


def test_the_simulated_hour_begins_when_it_says(read: Observed) -> None:
    assert read.window.startswith(str(np.datetime64(START_NS - 10**9, "ns"))[:19])
