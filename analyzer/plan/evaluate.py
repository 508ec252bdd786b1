"""One layout under one workload: the conservation checks, the simulation and the verdict on both."""

from dataclasses import dataclass, field
from itertools import chain

from analyzer.plan.demand import demands
from analyzer.plan.errors import BadPlan
from analyzer.plan.layout import Colocated, Disaggregated, Layout, Settings
from analyzer.plan.outcome import Figures, Objective, Window, figures
from analyzer.plan.simulate import simulate
from analyzer.plan.sizing import Check, check
from analyzer.plan.workload import Workload

REFUSED_AT = ("mean", "p95")
"""Moments of demand at which a queue at or above the ceiling refuses a layout; the peak is shown only."""


@dataclass(frozen=True, slots=True)
class Contract:
    """What a layout must reach: the objectives, by what share of requests, with queues below a ceiling."""

    objective: Objective = field(default_factory=Objective)
    attainment: float = 0.95
    ceiling: float = 0.85
    window: Window = field(default_factory=Window)
    burst_s: float = 10.0
    """Windows over which p95 and peak demand are taken."""

    def __post_init__(self) -> None:
        for name, value in (("attainment", self.attainment), ("utilisation ceiling", self.ceiling)):
            if not 0 < value <= 1:
                raise BadPlan(f"{name} is {value}; it must be above 0 and at most 1")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A layout's checks (mean, p95 and peak demand), simulated figures and why it is refused, if it is."""

    layout: Layout
    workload: str
    checks: tuple[Check, ...]
    figures: Figures
    reasons: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Whether nothing speaks against the layout."""
        return not self.reasons


def evaluate(workload: Workload, layout: Layout, settings: Settings, contract: Contract) -> Evaluation:
    """Check and simulate `layout` under `workload`; BadPlan when it cannot run at all."""
    tpot = contract.objective.tpot_s
    checks = tuple(
        check(layout, d, settings, tpot, contract.ceiling) for d in demands(workload, contract.burst_s)
    )
    result = figures(simulate(workload, layout, settings), contract.objective, contract.window)
    reasons = [c.refused for c in checks if c.moment in REFUSED_AT and c.refused]
    return Evaluation(layout, workload.origin, checks, result, (*reasons, *_missed(result, contract)))


def _missed(result: Figures, contract: Contract) -> list[str]:
    if result.met is None:
        return ["no request arrives in the measured window"]
    if result.met >= contract.attainment:
        return []
    return [
        f"{100 * result.met:.1f} % of requests meet both objectives; "
        f"{100 * contract.attainment:g} % are asked for"
    ]


def grid(workers: int, chunks: tuple[int, ...], prefill_budget: int = 16_384) -> list[Layout]:
    """Every layout of `workers` equal instances: colocated with each chunk, and each ratio of two pools."""
    if workers < 1:
        raise BadPlan(f"workers is {workers}; it must be at least 1")
    colocated = (Colocated(workers, chunk) for chunk in chunks)
    split = (Disaggregated(p, workers - p, prefill_budget) for p in range(1, workers))
    return list(chain(colocated, split))
