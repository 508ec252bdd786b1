"""What a newcomer without a GPU sees on the Plan tab: a recommendation from simulated telemetry."""

import gc
import json
from collections.abc import Iterator

import pytest

from analyzer.assemble.assembler import Assembler
from analyzer.demo.scenarios.catalogue import SCENARIOS, Scenario
from analyzer.demo.scenarios.player import exports
from analyzer.demo.scenarios.spans import Stage
from analyzer.plan.observed_plan import Asked, Result, plan_observed
from analyzer.plan.outcome import Objective
from analyzer.plan.verify import verify
from analyzer.plan.whatif import Grid
from analyzer.slo.scope import Scope
from collector.store import Store

START_NS = 1_767_225_600_000_000_000
LOPSIDED = SCENARIOS["wrong-ratio"]


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Result]:
    store = Store.open(tmp_path_factory.mktemp("store"))
    yield plan(store, LOPSIDED)
    store.close()
    gc.collect()


def plan(store: Store, scenario: Scenario) -> Result:
    """The what-if that the Plan tab asks for by default, on what the scenario's processes export."""
    take = scenario.play(seed=1)
    stage = Stage(take, "m", START_NS, scenario.name)
    store.insert_traces([body for _, path, body in exports(stage) if "Trace" in path])
    Assembler(store).catch_up()
    scope = Scope(START_NS, START_NS + round((take.ended_s + 1) * 1e9))
    asked = Asked(Objective(scenario.ttft, scenario.tpot), 0.99, grid=Grid(4), as_served=True)
    return plan_observed(store, scope, asked, "2026-01-01T00:00:00+00:00")


def test_a_wrong_ratio_is_put_right(planned: Result) -> None:
    answer = planned.document

    assert answer["refused"] is None
    assert answer["served"] == "1P+3D"
    assert answer["recommendation"]["layout"] == "2P+1D"
    changes = {lane["pool"]: lane["change"] for lane in answer["recommendation"]["lanes"]}
    assert changes == {"prefill": "grows", "decode": "shrinks"}
    assert answer["recommendation"]["considered"][0].startswith("Chunked prefill first: none of 8 tried")


def test_the_model_gives_back_what_another_simulator_told(planned: Result) -> None:
    """The deployment's workers take one prompt at a time with noise; the planner knows nothing of that."""
    replay = {figure["name"]: figure for figure in planned.document["calibration"]["replay"]["figures"]}

    assert abs(replay["attainment"]["error"]) < 0.05
    assert abs(replay["ttft50"]["error"]) < 0.1
    assert abs(replay["tpot50"]["error"]) < 0.02


def test_its_receipt_is_verified_without_the_store(planned: Result) -> None:
    assert planned.receipt is not None
    assert planned.requests is not None

    findings = verify(json.dumps(planned.receipt[0]), planned.receipt[1], requests=planned.requests.packed())

    assert (findings.status, findings.problems, findings.unchecked) == ("verified", [], [])
