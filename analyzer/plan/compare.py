"""A prediction beside what was measured: the error of each figure, and whether it may be relied on."""

from dataclasses import dataclass

import numpy as np

from analyzer.plan.errors import BadCalibration
from analyzer.plan.layout import Layout, Settings
from analyzer.plan.observed import Observed
from analyzer.plan.outcome import Figures, figures, percentile
from analyzer.plan.simulate import simulate

MAX_ATTAINMENT_ERROR = 0.05
MAX_TPOT_ERROR = 0.15
MAX_TTFT_ERROR = 0.35
"""A model whose replay of the window it was fitted to is further off is not used for another layout."""
SMALL_TTFT_S = 0.010
"""Differences of TTFT below this are not held against a model."""

NAMES = ("attainment", "ttft50", "ttft95", "tpot50", "tpot95")


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure as predicted and as measured; None where it does not exist. `unit` s or fraction."""

    name: str
    unit: str
    predicted: float | None
    measured: float | None

    @property
    def error(self) -> float | None:
        """Points for fractions, relative for seconds; positive when more was predicted."""
        if self.predicted is None or self.measured is None:
            return None
        if self.unit == "fraction":
            return self.predicted - self.measured
        return self.predicted / self.measured - 1 if self.measured else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A layout's predicted and measured figures over the same arrivals."""

    layout: Layout
    workload: str
    measured: int
    figures: tuple[Compared, ...]

    def __getitem__(self, name: str) -> Compared:
        return next(figure for figure in self.figures if figure.name == name)

    @property
    def faults(self) -> list[str]:
        """What is too far off to rely on the model; empty when nothing is."""
        limits = {"attainment": MAX_ATTAINMENT_ERROR, "tpot50": MAX_TPOT_ERROR, "ttft50": MAX_TTFT_ERROR}
        return [fault for name, most in limits.items() if (fault := _fault(self[name], most))]


def _fault(figure: Compared, most: float) -> str | None:
    error = figure.error
    if error is None or figure.predicted is None or figure.measured is None or abs(error) <= most:
        return None
    if figure.name == "ttft50" and abs(figure.predicted - figure.measured) <= SMALL_TTFT_S:
        return None
    if figure.unit == "fraction":
        return (
            f"{figure.name} {figure.predicted:.1%} predicted, {figure.measured:.1%} measured "
            f"({100 * most:g} points are allowed)"
        )
    return (
        f"{figure.name} {figure.predicted:.4g} s predicted, {figure.measured:.4g} s measured "
        f"({most:.0%} are allowed)"
    )


def replay(observed: Observed, layout: Layout, settings: Settings) -> Comparison:
    """Play the observed arrivals through `layout` and compare with what was measured."""
    run = simulate(observed.workload, layout, settings)
    return compare(observed, layout, figures(run, observed.objective, observed.measured))


def compare(observed: Observed, layout: Layout, predicted: Figures) -> Comparison:
    """`predicted`, of the observed arrivals, beside the measured figures of the same requests."""
    window, arrival = observed.measured, observed.workload.columns.arrival_s
    inside = (arrival > window.start_s) & (arrival < window.end_s) & observed.evaluated
    ttft = observed.ttft[inside & np.isfinite(observed.ttft)]
    tpot = observed.tpot[inside & np.isfinite(observed.tpot)]
    met = float(observed.met[inside].mean()) if inside.any() else None
    measured = (
        met,
        percentile(ttft, 0.5),
        percentile(ttft, 0.95),
        percentile(tpot, 0.5),
        percentile(tpot, 0.95),
    )
    return _beside(layout, observed.workload.origin, int(inside.sum()), predicted, measured)


def compare_figures(layout: Layout, workload: str, predicted: Figures, truth: Figures) -> Comparison:
    """Two simulations of the same arrivals: what was predicted beside what stands in for the truth."""
    return _beside(layout, workload, truth.measured, predicted, _latencies(truth))


def _latencies(figures: Figures) -> tuple[float | None, ...]:
    return figures.met, figures.ttft50_s, figures.ttft95_s, figures.tpot50_s, figures.tpot95_s


def _beside(
    layout: Layout, workload: str, measured: int, predicted: Figures, truth: tuple[float | None, ...]
) -> Comparison:
    rows = zip(NAMES, _latencies(predicted), truth, strict=True)
    found = tuple(
        Compared(name, "fraction" if name == "attainment" else "s", said, came) for name, said, came in rows
    )
    return Comparison(layout, workload, measured, found)


def check_replay(found: Comparison, window: str) -> None:
    """BadCalibration when the replay of the window the model was fitted to is too far off."""
    if found.faults:
        raise BadCalibration(
            f"{window}: the calibrated model does not give back what was measured: "
            f"{'; '.join(found.faults)}. Nothing is recommended from it"
        )
