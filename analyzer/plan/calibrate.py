"""A step model fitted to measured steps, with how well it fits; one that does not fit is refused."""

from dataclasses import dataclass

import numpy as np

from analyzer.plan.errors import BadCalibration
from analyzer.plan.outcome import Floats
from analyzer.plan.provenance import Label
from analyzer.plan.step_model import StepModel

MIN_STEPS = 30
MAX_MEDIAN_ERROR = 0.10
MAX_P95_ERROR = 0.35


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted model and the relative error of its step times over the steps it was fitted to."""

    model: StepModel
    steps: int
    median_error: float
    p95_error: float


def fit_steps(context: Floats, tokens: Floats, seconds: Floats, overhead_s: float, origin: str) -> Fit:
    """Fit max(weights + c·context, f·tokens) + overhead to measured steps, columns of equal length.

    `overhead_s` is fixed beforehand (the host time of a step): step times alone cannot tell it from the
    weights. Each step is taken as memory- or compute-bound in turn until the split no longer changes.
    BadCalibration when there are too few steps, one regime is missing, or the fit is poor.
    """
    context, tokens, seconds = (np.asarray(column, np.float64) for column in (context, tokens, seconds))
    if not len(context) == len(tokens) == len(seconds):
        raise BadCalibration(f"{origin}: columns of {len(context)}, {len(tokens)} and {len(seconds)} steps")
    if len(seconds) < MIN_STEPS:
        raise BadCalibration(f"{origin}: {len(seconds)} steps; at least {MIN_STEPS} are needed")
    if not (np.all(seconds > overhead_s) and np.all(tokens > 0) and np.all(context >= 0)):
        raise BadCalibration(
            f"{origin}: a step has no tokens, negative context, or takes no longer than the overhead "
            f"of {overhead_s:g} s"
        )
    model = _alternate(context, tokens, seconds - overhead_s, overhead_s, origin)
    memory = model.weights_s + model.context_s_per_token * context
    predicted = np.maximum(memory, model.compute_s_per_token * tokens) + overhead_s
    error = np.abs(predicted - seconds) / seconds
    fit = Fit(model, len(seconds), float(np.median(error)), float(np.quantile(error, 0.95)))
    if fit.median_error > MAX_MEDIAN_ERROR or fit.p95_error > MAX_P95_ERROR:
        raise BadCalibration(
            f"{origin}: the step model misses the measured steps by {fit.median_error:.0%} (median) and "
            f"{fit.p95_error:.0%} (p95); {MAX_MEDIAN_ERROR:.0%} and {MAX_P95_ERROR:.0%} are allowed. "
            "Nothing is recommended from it"
        )
    return fit


def _alternate(context: Floats, tokens: Floats, busy: Floats, overhead_s: float, origin: str) -> StepModel:
    compute_bound = tokens > np.median(tokens)
    if not compute_bound.any():
        compute_bound = tokens > tokens.min()
    for _ in range(50):
        if compute_bound.sum() < 5 or (~compute_bound).sum() < 5:
            regime = "compute" if compute_bound.sum() < 5 else "memory"
            raise BadCalibration(
                f"{origin}: fewer than 5 steps are {regime}-bound; measure both decode-only and prefill steps"
            )
        per_token = float(np.median(busy[compute_bound] / tokens[compute_bound]))
        design = np.stack([np.ones_like(context), context], axis=1)[~compute_bound]
        (weights, per_context), *_ = np.linalg.lstsq(design, busy[~compute_bound], rcond=None)
        if weights <= 0 or per_context <= 0:
            raise BadCalibration(
                f"{origin}: fitted weights_s {weights:.3g} and context_s_per_token {per_context:.3g}; "
                "both must be above 0, so steps do not grow with their context as the model needs"
            )
        split = per_token * tokens > weights + per_context * context
        if np.array_equal(split, compute_bound):
            break
        compute_bound = split
    return StepModel(float(weights), float(per_context), per_token, overhead_s, Label.DERIVED, origin)
