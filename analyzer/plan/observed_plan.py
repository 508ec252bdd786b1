"""From a store to an answer: read a window, calibrate, replay it, then try the grid; or a backtest of it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from analyzer.plan.calibrate_requests import Calibration, calibrate
from analyzer.plan.compare import check_replay, replay
from analyzer.plan.deployment import Deployment
from analyzer.plan.document import Fitted, comparison_part, document, refusal, workload_part
from analyzer.plan.errors import BadCalibration
from analyzer.plan.evaluate import Contract
from analyzer.plan.layout import Colocated, Layout, Settings
from analyzer.plan.observed import Columns, Observed, read_observed
from analyzer.plan.one_request import paths, typical_long
from analyzer.plan.outcome import Objective, Window
from analyzer.plan.provenance import Input
from analyzer.plan.receipt import Source, build_receipt
from analyzer.plan.receipt_advice import advice, fitted_to
from analyzer.plan.requests_file import RequestsFile, requests_file
from analyzer.plan.whatif import Answer, Grid, prepare, run
from analyzer.plan.workload import Workload
from analyzer.slo.scope import Scope

FAR_BEYOND = 1.5
"""Up to so many times the context that was seen, step times are trusted."""

MOST_PATHS = 12
"""Layouts of which one request's path is kept: more cannot be told apart on a page."""

Progress = Callable[[int, int], None]
Receipt = tuple[dict[str, Any], str]


@dataclass(frozen=True)
class Asked:
    """A what-if: what a layout must reach, the grid, and what telemetry does not say (`facts`, of `by`)."""

    objective: Objective = field(default_factory=Objective)
    attainment: float = 0.95
    ceiling: float = 0.85
    grid: Grid = field(default_factory=lambda: Grid(4))
    as_served: bool = False
    """Whether to try as many workers as served the window, instead of the grid's."""
    facts: Deployment = field(default_factory=Deployment)
    by: str = "pdscope default"
    served_chunk: int | None = None

    def contract(self, window: Window) -> Contract:
        """The contract over a measured window."""
        return Contract(self.objective, self.attainment, self.ceiling, window)


@dataclass(frozen=True)
class Result:
    """The document, the receipt where something was recommended on, and the requests to lie beside it.

    Without `requests` whoever checks the receipt can draw them again, or has the trace file.
    """

    document: dict[str, Any]
    receipt: Receipt | None
    requests: RequestsFile | None = None


def plan_observed(
    store: Columns, scope: Scope, asked: Asked, written_at: str, progress: Progress | None = None,
    announce: Callable[[str], None] | None = None,
) -> Result:  # fmt: skip
    """The what-if on stored requests. PlanError when they cannot be planned on at all.

    A calibration that does not fit gives a document that says so and recommends nothing.
    """
    observed = read_observed(store, scope, asked.objective)
    contract = asked.contract(observed.measured)
    try:
        fitted = fit(observed, asked)
    except BadCalibration as error:
        return Result(refusal(observed.workload, contract, asked.grid.headroom, str(error)), None)
    c = fitted.calibration
    carried = requests_file(observed)
    source = Source.stored(f"requests of {observed.window}", observed.window, carried)
    result = plan_workload(
        observed.workload, source, c.settings, list(c.inputs), c.accelerators, asked, contract, written_at,
        progress, announce, served=c.served, fitted=fitted,
    )  # fmt: skip
    return replace(result, requests=carried)


def fit(observed: Observed, asked: Asked) -> Fitted:
    """Calibrate on a window; BadCalibration when the model does not give that window back."""
    c = calibrate(observed, asked.facts, asked.by, asked.served_chunk, asked.grid.prefill_budget)
    found = replay(observed, c.served, c.settings)
    check_replay(found, observed.window)
    return Fitted(c, found)


def plan_workload(
    workload: Workload, source: Source, settings: Settings, inputs: list[Input], accelerators: int,
    asked: Asked, contract: Contract, written_at: str, progress: Progress | None = None,
    announce: Callable[[str], None] | None = None, served: Layout | None = None,
    fitted: Fitted | None = None,
) -> Result:  # fmt: skip
    """The what-if on any workload, with settings that were declared or calibrated."""
    grid = replace(asked.grid, workers=served.workers) if asked.as_served and served else asked.grid
    slowest = fitted.calibration.slowest_bytes_per_s if fitted else None
    plan = prepare(workload, settings, contract, grid, served, slowest)
    if announce:
        announce(plan.announcement)
    answer = run(plan, progress)
    row = typical_long(workload, contract.window)
    equal = [layout for layout in plan.layouts if layout.workers == grid.workers][:MOST_PATHS]
    shown = (row, paths(workload, row, equal, settings))
    parts = {**advice(answer), **(fitted_to(fitted, accelerators) if fitted else {})}
    receipt = _receipt(answer, source, settings, contract, inputs, written_at, parts)
    made = document(answer, fitted, inputs, accelerators, shown)
    if fitted and (warning := _extrapolates(answer, fitted.calibration)):
        made["calibration"]["notes"].append(warning)
    return Result(made, receipt)


def _extrapolates(answer: Answer, calibration: Calibration) -> str | None:
    """A warning when the recommended layout decodes with far more context than was ever seen."""
    chosen, load = answer.recommendation.layout, answer.plan.workloads[0].columns
    if chosen is None:
        return None
    workers = chosen.workers if isinstance(chosen, Colocated) else chosen.decode
    tpot = next(e.figures.tpot50_s for e in answer.evaluations if e.layout == chosen) or 0.0
    # Little's law: as many streams run at once as tokens a second times seconds a token
    batch = float(load.output.sum()) / answer.plan.workloads[0].span_s * tpot / workers
    context = batch * float(load.prompt.mean() + load.output.mean() / 2)
    if context <= FAR_BEYOND * calibration.context_seen:
        return None
    return (
        f"{chosen.name} decodes with about {context:,.0f} tokens of context a worker; no more than "
        f"{calibration.context_seen:,.0f} were seen, so its steps are extrapolated: try it on part of the "
        "traffic first"
    )


def _receipt(
    answer: Answer, source: Source, settings: Settings, contract: Contract, inputs: list[Input],
    written_at: str, parts: dict[str, Any],
) -> Receipt:  # fmt: skip
    factors = (1.0, 1 + answer.plan.grid.headroom)
    offered = [(w, source.denser(factor)) for w, factor in zip(answer.plan.workloads, factors, strict=False)]
    found = answer.evaluations
    return build_receipt(found, offered, settings, contract, inputs, written_at, parts)


def backtest_observed(store: Columns, scope: Scope, against: Scope, asked: Asked) -> dict[str, Any]:
    """Calibrate on one window, predict another one with its own arrivals and layout, and say the error."""
    known = read_observed(store, scope, asked.objective)
    truth = read_observed(store, against, asked.objective)
    base: dict[str, Any] = {
        "label": "modelled",
        "calibrated_on": workload_part(known.workload),
        "predicted": workload_part(truth.workload),
    }
    try:
        fitted = fit(known, asked)
    except BadCalibration as error:
        return {**base, "refused": str(error), "replay": None, "prediction": None}
    layout = truth.layout(asked.served_chunk, asked.grid.prefill_budget)
    found = replay(truth, layout, fitted.calibration.settings)
    return {
        **base,
        "refused": None,
        "replay": comparison_part(fitted.replay),
        "prediction": comparison_part(found),
    }
