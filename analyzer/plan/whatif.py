"""What-if: one workload through a declared grid of layouts, intact and degraded, and what follows from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from analyzer.plan.autoscaling import Signal, signals
from analyzer.plan.degraded import Mode, degraded
from analyzer.plan.demand import demands
from analyzer.plan.errors import BadPlan
from analyzer.plan.evaluate import Contract, Evaluation, grid
from analyzer.plan.layout import Colocated, Layout, Settings
from analyzer.plan.outcome import Figures, Window
from analyzer.plan.recommend import Recommendation, recommend
from analyzer.plan.sweep import Case, cost, evaluate_all
from analyzer.plan.transfer_budget import RESERVE, TransferBudget, transfer_budget
from analyzer.plan.workload import Workload

MAX_LAYOUTS = 2000


@dataclass(frozen=True, slots=True)
class Grid:
    """The layouts to try: with `workers` instances and, to find the smallest that will do, with fewer.

    `chunks` step budgets of colocated workers, `prefill_budget` that of prefill workers. `headroom` more
    requests must still be served. `degraded`: also with one worker or the link lost, at `workers` instances.
    """

    workers: int
    chunks: tuple[int, ...] = (512, 2048)
    prefill_budget: int = 16_384
    headroom: float = 0.15
    reserve: float = RESERVE
    degraded: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.workers <= 1024:
            raise BadPlan(f"workers is {self.workers}; it must be 1 to 1024")
        if not self.chunks:
            raise BadPlan("no chunk budget is given; colocated layouts are always considered")
        if not 0 <= self.headroom <= 10:
            raise BadPlan(f"headroom is {self.headroom}; it must be 0 to 10 (0.15: fifteen percent more)")
        count = self.workers * (self.workers - 1) // 2 + self.workers * len(self.chunks)
        if count > MAX_LAYOUTS:
            raise BadPlan(
                f"a grid of up to {self.workers} workers holds {count:,} layouts; the limit is "
                f"{MAX_LAYOUTS:,}: ask for fewer workers or chunk budgets"
            )

    @property
    def layouts(self) -> list[Layout]:
        """Every layout, those of all workers first."""
        chunks = tuple(dict.fromkeys(self.chunks))
        sizes = (grid(n, chunks, self.prefill_budget) for n in range(self.workers, 0, -1))
        return list(chain.from_iterable(sizes))


@dataclass(frozen=True, slots=True)
class Failure:
    """What is left of a layout in a degraded mode."""

    layout: Layout
    mode: Mode
    serves: Layout
    figures: Figures


@dataclass(frozen=True)
class Plan:
    """A what-if, ready to run: what is simulated was fixed, and checked, before it starts."""

    workloads: tuple[Workload, ...]
    cases: tuple[Case, ...]
    layouts: tuple[Layout, ...]
    failures: tuple[tuple[Layout, Mode], ...]
    settings: Settings
    contract: Contract
    grid: Grid
    budget: TransferBudget
    served: Layout | None

    @property
    def announcement(self) -> str:
        """What is about to be simulated, in one line."""
        simulated = len(set(self.cases))
        return (
            f"{len(self.layouts)} layouts, {len(self.failures)} degraded modes: {simulated} simulations, "
            f"{cost(self.workloads, list(dict.fromkeys(self.cases))):,} simulated requests"
        )


@dataclass(frozen=True)
class Answer:
    """What came out: evaluations of every layout under both workloads, failures, and what to do."""

    plan: Plan
    evaluations: tuple[Evaluation, ...]
    failures: tuple[Failure, ...]
    recommendation: Recommendation
    signals: tuple[Signal, ...]


def prepare(
    workload: Workload, settings: Settings, contract: Contract, asked: Grid,
    served: Layout | None = None, slowest_bytes_per_s: float | None = None,
) -> Plan:  # fmt: skip
    """Lay out what will be simulated; BadPlan when a layout cannot run at all.

    The measured window of the denser arrivals shrinks with them, so that the same requests are measured.
    """
    factor = 1 + asked.headroom
    workloads = [workload] if factor == 1 else [workload, workload.denser(factor)]
    window = contract.window
    shrunk = Window(window.start_s / factor, window.end_s / factor)
    denser = replace(contract, window=shrunk, burst_s=contract.burst_s / factor)
    contracts = [contract, denser]
    layouts = list(dict.fromkeys([*asked.layouts, *([served] if served is not None else [])]))
    cases = [Case(w, layout, settings, contracts[w]) for layout in layouts for w in range(len(workloads))]
    failures: list[tuple[Layout, Mode]] = []
    if asked.degraded:
        for layout in layouts:
            if layout.workers == asked.workers:
                for item in degraded(layout, settings, window.start_s, asked.chunks[0]):
                    failures.append((layout, item.mode))
                    cases.append(Case(0, item.serves, item.settings, contract))
    for case in cases:
        case.settings.check(case.layout)
    budget = transfer_budget(
        workload, settings, contract.objective.ttft_s, slowest_bytes_per_s, asked.reserve
    )
    return Plan(
        tuple(workloads), tuple(cases), tuple(layouts), tuple(failures), settings, contract, asked, budget,
        served,
    )  # fmt: skip


def run(
    plan: Plan, progress: Callable[[int, int], None] | None = None, processes: int | None = None
) -> Answer:
    """Simulate a plan on all cores; BadPlan before anything runs when it is too large."""
    found = evaluate_all(plan.workloads, plan.cases, progress, processes)
    intact = [_within_budget(e, plan) for e in found[: len(plan.layouts) * len(plan.workloads)]]
    failures = [
        Failure(layout, mode, evaluation.layout, evaluation.figures)
        for (layout, mode), evaluation in zip(plan.failures, found[len(intact) :], strict=True)
    ]
    chosen = recommend(intact, plan.contract, plan.grid.headroom, plan.budget, plan.served)
    return Answer(plan, tuple(intact), tuple(failures), chosen, tuple(_signals(plan, chosen)))


def _within_budget(evaluation: Evaluation, plan: Plan) -> Evaluation:
    """Two pools on a link that takes too much of TTFT are refused, whatever the simulation says."""
    if plan.budget.refused is None or isinstance(evaluation.layout, Colocated):
        return evaluation
    return replace(evaluation, reasons=(*evaluation.reasons, plan.budget.refused))


def _signals(plan: Plan, chosen: Recommendation) -> Sequence[Signal]:
    if chosen.layout is None:
        return ()
    mean = demands(plan.workloads[0])[0]
    return signals(chosen.layout, mean, plan.settings, plan.contract)
