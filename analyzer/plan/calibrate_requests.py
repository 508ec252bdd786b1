"""A step model and a hand-off fitted to requests as they were observed, and refused where they do not fit.

Requests say how long prompts and streams took, not the steps. A stretch of prompt work takes
compute_s · tokens + overhead_s a step; a stream's mean step takes weights_s + overhead_s + context_s · (mean
context beside it). Both are fitted robustly (see robust_fit), then the calibrated model replays the window
it was fitted to and must give the latencies that were measured.
"""

from dataclasses import dataclass, replace

import numpy as np

from analyzer.plan.busy import Streams, Stretches, prompt_stretches, streams
from analyzer.plan.calibrate import MAX_MEDIAN_ERROR, MAX_P95_ERROR
from analyzer.plan.deployment import Deployment
from analyzer.plan.errors import BadCalibration
from analyzer.plan.hand_off_fit import fit_hand_off
from analyzer.plan.layout import Colocated, Layout, Settings
from analyzer.plan.observed import QUERY, Observed
from analyzer.plan.outcome import Floats
from analyzer.plan.provenance import Input, Label
from analyzer.plan.step_model import StepModel
from analyzer.robust_fit import fit

MIN_REQUESTS = 60
MIN_STEPS = 16
"""Shorter streams say little of their step: when the first token falls within a step weighs too much."""
MIN_SPREAD = 1.3
"""Least ratio of the 95th to the 5th percentile of context: with less, its cost cannot be told."""


@dataclass(frozen=True, slots=True)
class FitError:
    """How far a fit misses what it was fitted to: relative errors over `rows`."""

    what: str
    rows: int
    median: float
    p95: float

    def check(self, window: str) -> None:
        """BadCalibration when it is too far off."""
        if self.median > MAX_MEDIAN_ERROR or self.p95 > MAX_P95_ERROR:
            raise BadCalibration(
                f"{window}: the step model misses the measured {self.what} by {self.median:.0%} (median) and "
                f"{self.p95:.0%} (p95) of {self.rows}; {MAX_MEDIAN_ERROR:.0%} and {MAX_P95_ERROR:.0%} are "
                "allowed. Nothing is recommended from it"
            )


@dataclass(frozen=True)
class Calibration:
    """Settings fitted to a window, the layout that served it, how well they fit, where numbers are from."""

    settings: Settings
    served: Layout
    accelerators: int
    slowest_bytes_per_s: float | None
    context_seen: float
    """Context beside a stream, 95th percentile, tokens: beyond it decode steps are extrapolated."""
    errors: tuple[FitError, ...]
    inputs: tuple[Input, ...]
    notes: tuple[str, ...]


def calibrate(observed: Observed, facts: Deployment, by: str, chunk: int | None, budget: int) -> Calibration:
    """Fit the step model and the hand-off to `observed`; what telemetry does not tell is taken from `facts`.

    `by` names who supplied `facts`, `chunk` and `budget` are the step budgets of colocated and of prefill
    workers. BadCalibration when there is too little to go by, or the fit misses what was measured.
    """
    served = observed.layout(chunk, budget)
    if len(observed.workload) < MIN_REQUESTS:
        raise BadCalibration(
            f"{observed.window}: {len(observed.workload)} requests; at least {MIN_REQUESTS} are needed"
        )
    base = facts.settings()
    one = isinstance(served, Colocated)
    prompts = prompt_stretches(observed, served.chunk if isinstance(served, Colocated) else None)
    decodes = streams(observed, prompts, MIN_STEPS)
    _enough(observed, prompts, decodes)
    compute, overhead, prefill_error = _prompt_fit(observed, prompts, one, base.model.overhead_s)
    prefill_error.check(observed.window)
    weights, context, decode_error = _stream_fit(observed, decodes, one, overhead)
    decode_error.check(observed.window)
    errors = (prefill_error, decode_error)
    origin = f"fit to {QUERY}, {observed.window}"
    model = StepModel(weights, context, compute, overhead, Label.DERIVED, origin)
    sent = fit_hand_off(observed, base.transfer, compute, by, one)
    accelerators, gpus = _accelerators(observed, facts, by)
    settings = replace(base, model=model, transfer=sent.transfer)
    inputs = (*_model_inputs(model, one, by), *sent.inputs, gpus)
    return Calibration(
        settings,
        served,
        accelerators,
        sent.conservative_bytes_per_s,
        float(np.quantile(decodes.context, 0.95)),
        errors,
        inputs,
        (*observed.notes, *sent.notes),
    )


def _enough(observed: Observed, prompts: Stretches, decodes: Streams) -> None:
    if len(prompts.start) < MIN_REQUESTS // 2:
        raise BadCalibration(
            f"{observed.window}: {len(prompts.start)} stretches of prompt work are known; at least "
            f"{MIN_REQUESTS // 2} are needed. Prefill workers must report prefill_compute"
        )
    if len(decodes.steps) < MIN_REQUESTS // 2:
        raise BadCalibration(
            f"{observed.window}: {len(decodes.steps)} streams of {MIN_STEPS} steps and more; at least "
            f"{MIN_REQUESTS // 2} are needed to tell a decode step"
        )


def _prompt_fit(
    observed: Observed, prompts: Stretches, one: bool, overhead: float
) -> tuple[float, float, FitError]:
    """compute_s and overhead_s of prompt steps; colocated ones are alike, so there overhead is as given."""
    seconds = prompts.end - prompts.start
    if one:
        tokens = prompts.tokens + prompts.batch * prompts.steps
        found = fit(tokens[:, None], np.maximum(seconds - overhead * prompts.steps, 0.0))
        compute = found.coefficients[0] if found else 0.0
    else:
        tokens = prompts.tokens
        found = fit(np.column_stack([tokens, prompts.steps]), seconds)
        compute, overhead = found.coefficients if found else (0.0, 0.0)
    predicted = compute * tokens + overhead * prompts.steps
    if compute <= 0:
        raise BadCalibration(
            f"{observed.window}: prompt time does not grow with prompt tokens, so the step model cannot hold"
        )
    large = prompts.tokens >= np.median(prompts.tokens)  # short prompts are bound by memory
    return float(compute), float(overhead), _error("prompt work", predicted[large], seconds[large])


def _stream_fit(
    observed: Observed, decodes: Streams, one: bool, overhead: float
) -> tuple[float, float, FitError]:
    """weights_s and context_s of steps in which nothing but decodes runs."""
    if one:
        steps, seconds = decodes.steps - decodes.prompt_steps, decodes.seconds - decodes.prompt_s
        kept = (steps >= MIN_STEPS / 2) & (seconds > 0)
    else:  # the KV comes while a step is under way: half a step passes before the first one
        steps, seconds = decodes.steps + 0.5, decodes.seconds
        kept = np.ones(len(steps), bool)
    context, steps, seconds = decodes.context[kept], steps[kept], seconds[kept]
    if len(context) < MIN_REQUESTS // 2:
        raise BadCalibration(
            f"{observed.window}: only {len(context)} streams ran without prompts beside them for "
            f"{MIN_STEPS // 2} steps; take a window with less load"
        )
    low, high = np.quantile(context, (0.05, 0.95))
    if high < MIN_SPREAD * low:
        raise BadCalibration(
            f"{observed.window}: context beside a stream only varies from {low:,.0f} to {high:,.0f} tokens, "
            "so its cost cannot be told from the weights'; take a window with more and less load"
        )
    found = fit(np.column_stack([np.ones(len(context)), context]), seconds / steps)
    fixed, per_token = found.coefficients if found else (0.0, 0.0)
    if fixed <= overhead or per_token <= 0:
        raise BadCalibration(
            f"{observed.window}: decode steps of {fixed:.3g} s + {per_token:.3g} s per context token beside "
            f"{overhead:.3g} s of overhead: steps do not grow with their context as the model needs"
        )
    predicted = fixed + per_token * context
    return float(fixed - overhead), float(per_token), _error("decode steps", predicted, seconds / steps)


def _error(what: str, predicted: Floats, measured: Floats) -> FitError:
    relative = np.abs(predicted - measured) / measured
    return FitError(what, len(measured), float(np.median(relative)), float(np.quantile(relative, 0.95)))


def _accelerators(observed: Observed, facts: Deployment, by: str) -> tuple[int, Input]:
    unit, name = "accelerators", "accelerators_per_instance"
    if observed.gpus is None:
        return facts.accelerators, Input(name, facts.accelerators, unit, Label.SUPPLIED, by)
    query = "analyzer/slo/gpus.sql"
    return observed.gpus, Input(name, observed.gpus, unit, Label.OBSERVED, query, observed.window)


def _model_inputs(model: StepModel, one: bool, by: str) -> list[Input]:
    fitted = [
        ("step_weights_s", model.weights_s, "s"),
        ("step_context_s_per_token", model.context_s_per_token, "s/token"),
        ("step_compute_s_per_token", model.compute_s_per_token, "s/token"),
    ]
    if not one:
        fitted.append(("step_overhead_s", model.overhead_s, "s"))
    made = [Input(name, value, unit, Label.DERIVED, model.origin) for name, value, unit in fitted]
    if one:
        made.append(Input("step_overhead_s", model.overhead_s, "s", Label.SUPPLIED, by))
    return made
