"""Many layouts under many workloads, on all cores, with progress."""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass

from analyzer.plan import stopping
from analyzer.plan.errors import BadPlan
from analyzer.plan.evaluate import Contract, Evaluation, evaluate
from analyzer.plan.layout import Layout, Settings
from analyzer.plan.simulate import on_one_clock
from analyzer.plan.workload import Workload

MAX_REQUESTS = 50_000_000
"""Most requests simulated in one sweep: about a quarter of an hour on one core."""

WORTH_A_POOL = 60_000
"""Requests below which starting processes costs more than it saves."""

ONE_CLOCK_COST = 4
"""How much longer a layout takes whose workers influence each other."""

_LOOK_S = 0.2
"""How often (seconds) it is looked whether a sweep in processes is still wanted."""

Progress = Callable[[int, int], None]
"""Called with (done, of) after every evaluation."""


@dataclass(frozen=True, slots=True)
class Case:
    """A layout to evaluate under workload number `workload`."""

    workload: int
    layout: Layout
    settings: Settings
    contract: Contract


_shared: Sequence[Workload] | None = None


def sweep(
    workloads: Sequence[Workload],
    layouts: Sequence[Layout],
    settings: Settings,
    contract: Contract,
    progress: Progress | None = None,
    processes: int | None = None,
) -> list[Evaluation]:
    """Evaluate every layout under every workload, in order: all workloads of the first layout first.

    BadPlan before anything runs when a layout cannot run or the grid is too large. `processes` None: one
    per core.
    """
    cases = [Case(w, layout, settings, contract) for layout in layouts for w in range(len(workloads))]
    return evaluate_all(workloads, cases, progress, processes)


def evaluate_all(
    workloads: Sequence[Workload],
    cases: Sequence[Case],
    progress: Progress | None = None,
    processes: int | None = None,
) -> list[Evaluation]:
    """Evaluate every case, in order; as `sweep`. Equal cases are simulated once."""
    distinct = list(dict.fromkeys(cases))
    weight = cost(workloads, distinct)
    if not distinct:
        raise BadPlan("nothing to sweep: no workloads or no layouts")
    if weight > MAX_REQUESTS:
        raise BadPlan(
            f"{len(distinct)} simulations come to {weight} simulated requests; the limit is {MAX_REQUESTS}. "
            "Sweep fewer layouts or a shorter workload"
        )
    for case in distinct:
        case.settings.check(case.layout)
    processes = min(processes or os.cpu_count() or 1, len(distinct))
    report = progress or (lambda done, of: None)
    if processes == 1 or weight < WORTH_A_POOL:
        results = []
        for case in distinct:
            results.append(_evaluate(workloads, case))
            report(len(results), len(distinct))
    else:
        results = _in_processes(distinct, workloads, processes, report)
    found = dict(zip(distinct, results, strict=True))
    return [found[case] for case in cases]


def cost(workloads: Sequence[Workload], cases: Sequence[Case]) -> int:
    """Simulated requests the cases come to; those on one clock count as often as they take longer.

    One that may be retried more than once counts as often as it may be.
    """
    return sum(
        len(workloads[case.workload])
        * (ONE_CLOCK_COST * max(1, case.settings.retries) if on_one_clock(case.layout, case.settings) else 1)
        for case in cases
    )


def _in_processes(
    cases: list[Case], workloads: Sequence[Workload], processes: int, report: Progress
) -> list[Evaluation]:
    # spawn: forking a process that holds threads (a store, a server) can deadlock the child
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(processes, context, initializer=_receive, initargs=(workloads,)) as pool:
        futures = [pool.submit(_evaluate_shared, case) for case in cases]
        waiting = set(futures)
        try:
            while waiting:
                stopping.check()
                done, waiting = wait(waiting, _LOOK_S, FIRST_COMPLETED)
                for number, future in enumerate(done, len(cases) - len(waiting) - len(done) + 1):
                    future.result()
                    report(number, len(cases))
        except BaseException:
            # a simulation under way is not waited for
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
    return [future.result() for future in futures]


def _receive(workloads: Sequence[Workload]) -> None:
    global _shared
    _shared = workloads


def _evaluate_shared(case: Case) -> Evaluation:
    if _shared is None:
        raise RuntimeError("a sweep process was started without its workloads")
    return _evaluate(_shared, case)


def _evaluate(workloads: Sequence[Workload], case: Case) -> Evaluation:
    return evaluate(workloads[case.workload], case.layout, case.settings, case.contract)
