"""Backtests on simulated deployments: each emits telemetry into a store; nothing else is known of it.

The truth is simulated with the declared constants; the prediction with constants calibrated on the telemetry
of another layout or rate. What differs is what calibration gets wrong, not what the step model leaves out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from analyzer.assemble.assembler import Assembler
from analyzer.plan.compare import compare_figures
from analyzer.plan.deployment import Deployment
from analyzer.plan.document import comparison_part, workload_part
from analyzer.plan.errors import BadCalibration
from analyzer.plan.layout import Colocated, Layout, Settings, parse_layout
from analyzer.plan.observed import Observed, read_observed
from analyzer.plan.observed_plan import Asked, fit
from analyzer.plan.outcome import Figures, Window, figures
from analyzer.plan.simulate import simulate
from analyzer.plan.telemetry import Emission, exports
from analyzer.plan.workload import Synthetic, Workload
from analyzer.slo.scope import Scope
from collector.store import Store

START_NS = 1_767_225_600_000_000_000
HOUR_NS = 3_600_000_000_000
EXPORTS_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Served:
    """A deployment that is simulated: `2P+2D` at so many requests/s."""

    layout: str
    rate_per_s: float


KNOWN = (Served("2P+2D", 8.0), Served("4x512", 8.0))
UNKNOWN = (
    Served("3P+1D", 16.0),
    Served("1P+3D", 8.0),
    Served("2P+2D", 24.0),
    Served("4x512", 24.0),
    Served("4x2048", 16.0),
)
"""What is calibrated on, and what is predicted from each."""


def simulated_backtests(
    store: Store,
    seconds: float,
    progress: Callable[[int, int], None] | None = None,
    known: Sequence[Served] = KNOWN,
    unknown: Sequence[Served] = UNKNOWN,
    facts: Deployment | None = None,
) -> list[dict[str, Any]]:
    """Calibrate on each of `known` and predict each of `unknown` (and itself); a document per prediction.

    `store` takes the telemetry, a cohort per deployment; `seconds` of traffic each. BadPlan when that is too
    short to be planned on.
    """
    truth = facts or Deployment()
    report = progress or (lambda done, of: None)
    found: list[dict[str, Any]] = []
    of = len(known) * (len(unknown) + 1)
    for served in known:
        observed = _observe(store, served, seconds, truth)
        layout = parse_layout(served.layout)
        chunk = layout.chunk if isinstance(layout, Colocated) else None
        base = {"label": "modelled", "calibrated_on": _named(observed, served)}
        try:
            fitted = fit(observed, Asked(facts=truth, served_chunk=chunk))
        except BadCalibration as error:
            found.append(
                {**base, "predicted": None, "refused": str(error), "replay": None, "prediction": None}
            )
            continue
        shown = {**base, "refused": None, "replay": comparison_part(fitted.replay)}
        for asked in (served, *unknown):
            calibrated = fitted.calibration.settings
            found.append({**shown, **_predict(asked, seconds, truth.settings(), calibrated)})
            report(len(found), of)
    return found


def _observe(store: Store, served: Served, seconds: float, facts: Deployment) -> Observed:
    """Simulate, store the telemetry, assemble it and read it as any window is read."""
    truth = facts.settings()
    run = simulate(_traffic(served, seconds), parse_layout(served.layout), truth)
    cohort = f"{served.layout}-{served.rate_per_s:g}"
    bodies = list(exports(run, truth.transfer, Emission(START_NS, "simulated", cohort, facts.accelerators)))
    for at in range(0, len(bodies), EXPORTS_AT_ONCE):
        store.insert_traces(bodies[at : at + EXPORTS_AT_ONCE])
    Assembler(store).catch_up()
    until = START_NS + round(seconds * 1e9) + HOUR_NS
    return read_observed(store, Scope(START_NS - HOUR_NS, until, cohort=cohort), Asked().objective)


def _traffic(served: Served, seconds: float) -> Workload:
    return Synthetic(served.rate_per_s, until_s=seconds).draw()


def _named(observed: Observed, served: Served) -> dict[str, Any]:
    return {**workload_part(observed.workload), "name": f"{served.layout} at {served.rate_per_s:g}/s"}


def _predict(asked: Served, seconds: float, truth: Settings, calibrated: Settings) -> dict[str, Any]:
    workload, layout = _traffic(asked, seconds), parse_layout(asked.layout)
    came, said = (_figures(workload, layout, settings, seconds) for settings in (truth, calibrated))
    comparison = compare_figures(layout, workload.origin, said, came)
    predicted = {**workload_part(workload), "name": f"{asked.rate_per_s:g}/s"}
    return {"predicted": predicted, "prediction": comparison_part(comparison)}


def _figures(workload: Workload, layout: Layout, settings: Settings, seconds: float) -> Figures:
    run = simulate(workload, layout, settings)
    return figures(run, Asked().objective, Window(seconds / 8, seconds * 7 / 8))
