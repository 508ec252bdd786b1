"""Constants fitted to requests as a store tells them, and refused where they do not fit."""

from dataclasses import replace

import numpy as np
import pytest

from analyzer.plan.calibrate_requests import calibrate
from analyzer.plan.compare import check_replay, compare, replay
from analyzer.plan.deployment import Deployment
from analyzer.plan.errors import BadCalibration, BadPlan
from analyzer.plan.layout import parse_layout
from analyzer.plan.observed import Observed
from analyzer.plan.outcome import Objective, Window, figures
from analyzer.plan.provenance import Label
from analyzer.plan.simulate import simulate
from analyzer.plan.workload import Synthetic
from tests.plan.reference import EXACT
from tests.plan.served import observed

FACTS = Deployment(step_overhead_s=0.8e-3)


def window(layout: str, rate: float = 8) -> Observed:
    return observed(simulate(Synthetic(rate).draw(), parse_layout(layout), EXACT), EXACT)


@pytest.fixture(scope="module")
def split() -> Observed:
    return window("2P+2D")


@pytest.fixture(scope="module")
def together() -> Observed:
    return window("4x512")


def test_two_pools_give_the_constants_back(split: Observed) -> None:
    found = calibrate(split, FACTS, "a test", None, 16_384)

    model, true = found.settings.model, EXACT.model
    assert model.compute_s_per_token == pytest.approx(true.compute_s_per_token, rel=1e-4)
    assert model.overhead_s == pytest.approx(true.overhead_s, rel=1e-3)
    assert model.weights_s == pytest.approx(true.weights_s, rel=0.01)
    assert model.context_s_per_token == pytest.approx(true.context_s_per_token, rel=0.03)
    assert found.settings.transfer.link.effective_bytes_per_s == pytest.approx(320e9, rel=1e-4)
    assert found.served.name == "2P+2D"
    assert found.accelerators == 8


def test_colocated_workers_give_the_constants_back(together: Observed) -> None:
    found = calibrate(together, FACTS, "a test", 512, 16_384)

    model, true = found.settings.model, EXACT.model
    assert model.compute_s_per_token == pytest.approx(true.compute_s_per_token, rel=0.01)
    assert model.weights_s == pytest.approx(true.weights_s, rel=0.01)
    assert model.context_s_per_token == pytest.approx(true.context_s_per_token, rel=0.03)
    assert "hand nothing over" in found.notes[-1]


def test_every_fitted_number_says_what_it_was_fitted_to_and_every_other_by_whom(split: Observed) -> None:
    inputs = {item.name: item for item in calibrate(split, FACTS, "a test", None, 16_384).inputs}

    assert inputs["step_weights_s"].label is Label.DERIVED
    assert "observed_requests.sql, a simulated hour" in inputs["step_weights_s"].origin
    assert inputs["layers"].label is Label.SUPPLIED
    assert inputs["layers"].origin == "a test"
    assert inputs["accelerators_per_instance"].label is Label.OBSERVED


@pytest.mark.parametrize(("layout", "rate"), [("3P+1D", 16), ("2P+2D", 24), ("4x512", 24)])
def test_another_ratio_or_rate_is_predicted_within_a_point(split: Observed, layout: str, rate: float) -> None:
    settings = calibrate(split, FACTS, "a test", None, 16_384).settings
    truth = window(layout, rate)

    found = replay(truth, parse_layout(layout), settings)

    assert abs(found["attainment"].error or 0.0) < 0.01
    assert abs(found["tpot95"].error or 1.0) < 0.02
    assert found.faults == []


def test_noise_of_a_few_percent_is_fitted_through(split: Observed) -> None:
    rng = np.random.default_rng(3)
    length = (split.prefill_until - split.prefill_from) * rng.normal(1, 0.03, len(split.workload))
    noisy = replace(split, tpot=split.tpot * rng.normal(1, 0.03, len(split.workload)),
                    prefill_until=split.prefill_from + length)  # fmt: skip

    found = calibrate(noisy, FACTS, "a test", None, 16_384)

    assert found.settings.model.compute_s_per_token == pytest.approx(
        EXACT.model.compute_s_per_token, rel=0.05
    )
    assert found.errors[1].median < 0.05


def test_prompts_whose_time_does_not_follow_their_tokens_are_refused(split: Observed) -> None:
    rng = np.random.default_rng(3)
    length = (split.prefill_until - split.prefill_from) * rng.choice([0.4, 1.0, 2.5], len(split.workload))
    strange = replace(split, prefill_until=split.prefill_from + length)

    with pytest.raises(BadCalibration, match="misses the measured prompt work by"):
        calibrate(strange, FACTS, "a test", None, 16_384)


def test_steps_that_do_not_grow_with_context_are_refused(split: Observed) -> None:
    with pytest.raises(BadCalibration, match="steps do not grow with their context"):
        calibrate(replace(split, tpot=0.0130 - split.tpot), FACTS, "a test", None, 16_384)


def test_missing_phases_are_named(split: Observed) -> None:
    unseen = np.full(len(split.workload), np.nan)

    with pytest.raises(BadCalibration, match="0 stretches of prompt work are known"):
        calibrate(replace(split, prefill_from=unseen), FACTS, "a test", None, 16_384)
    with pytest.raises(BadCalibration, match="0 streams of 16 steps and more"):
        calibrate(replace(split, tpot=unseen), FACTS, "a test", None, 16_384)


def test_colocated_workers_without_their_chunk_are_refused(together: Observed) -> None:
    with pytest.raises(BadPlan, match="--served-chunk"):
        calibrate(together, FACTS, "a test", None, 16_384)


def test_few_requests_are_refused() -> None:
    few = observed(simulate(Synthetic(8, until_s=5).draw(), parse_layout("1P+1D"), EXACT), EXACT)

    with pytest.raises(BadCalibration, match="at least 60 are needed"):
        calibrate(few, FACTS, "a test", None, 16_384)


def test_a_replay_that_does_not_give_back_what_was_measured_is_refused(split: Observed) -> None:
    settings = calibrate(split, FACTS, "a test", None, 16_384).settings
    slower = replace(split, ttft=split.ttft * 3, met=np.zeros(len(split.workload), bool))

    found = replay(slower, parse_layout("2P+2D"), settings)

    assert len(found.faults) == 2
    with pytest.raises(BadCalibration, match=r"attainment 100\.0% predicted, 0\.0% measured"):
        check_replay(found, slower.window)


def test_without_transfers_the_link_stays_as_supplied_and_says_so(split: Observed) -> None:
    few = replace(split, hand_offs=type(split.hand_offs)(*(np.empty(0) for _ in range(3))))

    found = calibrate(few, FACTS, "a test", None, 16_384)

    assert found.settings.transfer.link.nics == FACTS.nics
    assert {i.name: i.label for i in found.inputs}["nic_bytes_per_s"] is Label.SUPPLIED
    assert any("link is as supplied" in note for note in found.notes)


def test_time_before_the_worker_and_after_the_transfer_is_the_hand_offs_overhead(split: Observed) -> None:
    late = replace(split, ttft=split.ttft + 0.02, front=np.full(len(split.workload), 0.005))

    found = calibrate(late, FACTS, "a test", None, 16_384)

    assert found.settings.transfer.overhead_s == pytest.approx(0.025, abs=0.001)


def test_a_comparison_without_measured_requests_has_no_error() -> None:
    run = simulate(Synthetic(8, until_s=30).draw(), parse_layout("1P+1D"), EXACT)
    nothing = replace(observed(run, EXACT, Objective()), evaluated=np.zeros(len(run.workload), bool))

    found = compare(nothing, parse_layout("1P+1D"), figures(run, Objective(), Window(0, 30)))

    assert found["attainment"].error is None
    assert found.faults == []
