"""Backtests on simulated deployments, and on a queueing model that shares no code with the planner."""

from analyzer.assemble.assembler import Assembler
from analyzer.plan.compare import replay
from analyzer.plan.deployment import Deployment
from analyzer.plan.observed import Observed, read_observed
from analyzer.plan.observed_plan import Asked, fit
from analyzer.plan.outcome import Objective
from analyzer.plan.simulated_backtest import Served, simulated_backtests
from analyzer.plan.whatif import Grid
from analyzer.slo.scope import Scope
from collector.store import Store
from tests.scenarios.model import play
from tests.scenarios.processes import Stage
from tests.scenarios.scenario import Scenario
from tests.scenarios.spec import Cache, Decode, Links, Mode, Prefill, Router, Spec, Workload
from tests.scenarios.spec import Objective as Promise
from tests.scenarios.telemetry import exports
from tests.scenarios.truth import Truth

BASE_NS = 1_767_225_600_000_000_000
PROMISE = Objective(1.0, 0.022)
FACTS = Deployment(max_seqs=64, routing="least-loaded")
ASKED = Asked(PROMISE, facts=FACTS, by="a test", grid=Grid(4, prefill_budget=2048))


def test_a_simulated_deployment_predicts_another_from_its_telemetry_alone(store: Store) -> None:
    seen: list[tuple[int, int]] = []

    found = simulated_backtests(
        store, 240, lambda done, of: seen.append((done, of)), [Served("1P+1D", 2)], [Served("2x512", 3)],
        Deployment(step_overhead_s=0.006),
    )  # fmt: skip

    assert seen == [(1, 2), (2, 2)]
    assert [item["prediction"]["layout"] for item in found] == ["1P+1D", "2x512"]
    for item in found:
        errors = {figure["name"]: figure["error"] for figure in item["prediction"]["figures"]}
        assert abs(errors["attainment"]) < 0.01
        assert abs(errors["ttft95"]) < 0.05
        assert abs(errors["tpot95"]) < 0.02


def other_model(store: Store, number: int, prefill: int, decode: int, rate: float) -> Observed:
    """A deployment of the scenarios' own queueing model: chunks, noise, shared links, a control path."""
    load = Workload(requests=300, rate=rate, prompt_median=1500, prompt_sigma=0.7, output_median=60)
    spec = Spec(
        11, Mode.SEQUENTIAL, load, Router(), Prefill(workers=prefill, kv_tokens=400_000), Cache(), Links(),
        Decode(workers=decode, slots=64, kv_tokens=400_000, seq_s=0.0),
    )  # fmt: skip
    truth = Truth(Promise(PROMISE.ttft_s, PROMISE.tpot_s), (), {frozenset(): play(spec)})
    stage = Stage(Scenario(number, 1, "healthy", truth, {}, frozenset(), 0, 5), BASE_NS, f"other{number}")
    bodies = [export.body for export in exports(stage) if export.kind == "traces"]
    store.insert_traces(bodies)
    Assembler(store).catch_up()
    return read_observed(store, Scope(BASE_NS - 10**9, BASE_NS + 10**12, model=stage.model), PROMISE)


def test_another_models_deployment_is_predicted_within_ten_points(store: Store) -> None:
    fitted = fit(other_model(store, 1, 2, 2, 6.0), ASKED)
    truth = other_model(store, 2, 1, 3, 4.0)

    found = replay(truth, truth.layout(None, 2048), fitted.calibration.settings)

    assert found.layout.name == "1P+3D"
    assert (found["attainment"].measured or 1.0) < 0.95  # not all was easy to meet
    assert abs(found["attainment"].error or 0.0) < 0.10
    assert abs(found["tpot50"].error or 1.0) < 0.05
