"""Fitting the step model to measured steps, and refusing to when it does not fit."""

import numpy as np
import pytest

from analyzer.plan.calibrate import fit_steps
from analyzer.plan.errors import BadCalibration
from analyzer.plan.outcome import Floats
from analyzer.plan.provenance import Label
from analyzer.plan.step_model import llama3_70b_on_h100

TRUE = llama3_70b_on_h100()


def steps(noise: float, n: int = 400) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(11)
    context = rng.integers(0, 300_000, n).astype(float)
    tokens = np.where(rng.random(n) < 0.5, rng.integers(1, 64, n), rng.integers(512, 4096, n)).astype(float)
    exact = np.array([TRUE.step_s(c, k) for c, k in zip(context, tokens, strict=True)])
    return context, tokens, exact * (1 + noise * rng.standard_normal(n))


def test_noisy_steps_give_the_constants_back() -> None:
    fit = fit_steps(*steps(noise=0.03), overhead_s=0.8e-3, origin="test")

    assert fit.model.weights_s == pytest.approx(TRUE.weights_s, rel=0.03)
    assert fit.model.context_s_per_token == pytest.approx(TRUE.context_s_per_token, rel=0.05)
    assert fit.model.compute_s_per_token == pytest.approx(TRUE.compute_s_per_token, rel=0.03)
    assert fit.model.label is Label.DERIVED
    assert 0.01 < fit.median_error < 0.04


def test_steps_of_another_shape_are_refused_with_the_error() -> None:
    context, tokens, seconds = steps(noise=0)
    strange = seconds * np.where(np.arange(len(seconds)) % 2, 1.0, 2.5)

    with pytest.raises(BadCalibration, match="misses the measured steps by"):
        fit_steps(context, tokens, strange, 0.8e-3, "test")


def test_one_regime_alone_is_refused() -> None:
    context, tokens, seconds = steps(noise=0)
    small = tokens < 64

    with pytest.raises(BadCalibration, match="measure both decode-only and prefill steps"):
        fit_steps(context[small], tokens[small], seconds[small], 0.8e-3, "test")


@pytest.mark.parametrize(
    ("change", "problem"),
    [("few", "at least 30"), ("fast", "no longer than the overhead"), ("ragged", "columns of")],
)
def test_unusable_steps_are_refused(change: str, problem: str) -> None:
    context, tokens, seconds = steps(noise=0)
    if change == "few":
        context, tokens, seconds = context[:5], tokens[:5], seconds[:5]
    if change == "fast":
        seconds = seconds * 0.01
    if change == "ragged":
        tokens = tokens[:-1]

    with pytest.raises(BadCalibration, match=problem):
        fit_steps(context, tokens, seconds, 0.8e-3, "test")
