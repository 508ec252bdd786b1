"""Backtests on simulated deployments, and on a queueing model that shares no code with the planner."""

from analyzer.plan.compare import replay
from analyzer.plan.deployment import Deployment
from analyzer.plan.observed_plan import fit
from analyzer.plan.simulated_backtest import Served, simulated_backtests
from collector.store import Store
from tests.plan.other_model import ASKED, served


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


def test_another_models_deployment_is_predicted_within_ten_points(store: Store) -> None:
    settings = fit(served(store, "known", 2, 2, 6.0, 300), ASKED).calibration.settings
    truth = served(store, "unknown", 1, 3, 4.0, 300)

    found = replay(truth, truth.layout(None, 2048), settings)

    assert found.layout.name == "1P+3D"
    assert (found["attainment"].measured or 1.0) < 0.95  # not all was easy to meet
    assert abs(found["attainment"].error or 0.0) < 0.10
    assert abs(found["tpot50"].error or 1.0) < 0.05
