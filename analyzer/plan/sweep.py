"""Many layouts under many workloads, on all cores, with progress."""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from analyzer.plan.errors import BadPlan
from analyzer.plan.evaluate import Contract, Evaluation, evaluate
from analyzer.plan.layout import Layout, Settings
from analyzer.plan.workload import Workload

MAX_REQUESTS = 50_000_000
"""Most requests simulated in one sweep: about a quarter of an hour on one core."""

WORTH_A_POOL = 60_000
"""Requests below which starting processes costs more than it saves."""

Progress = Callable[[int, int], None]
"""Called with (done, of) after every evaluation."""

_shared: tuple[Sequence[Workload], Settings, Contract] | None = None


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
    jobs = [(w, layout) for layout in layouts for w in range(len(workloads))]
    requests = len(layouts) * sum(len(workload) for workload in workloads)
    if not jobs:
        raise BadPlan("nothing to sweep: no workloads or no layouts")
    if requests > MAX_REQUESTS:
        raise BadPlan(
            f"{len(layouts)} layouts x {len(workloads)} workloads are {requests} simulated requests; "
            f"the limit is {MAX_REQUESTS}. Sweep fewer layouts or a shorter workload"
        )
    for layout in layouts:
        settings.check(layout)
    processes = min(processes or os.cpu_count() or 1, len(jobs))
    report = progress or (lambda done, of: None)
    if processes == 1 or requests < WORTH_A_POOL:
        results = []
        for w, layout in jobs:
            results.append(evaluate(workloads[w], layout, settings, contract))
            report(len(results), len(jobs))
        return results
    return _in_processes(jobs, (workloads, settings, contract), processes, report)


def _in_processes(
    jobs: list[tuple[int, Layout]],
    shared: tuple[Sequence[Workload], Settings, Contract],
    processes: int,
    report: Progress,
) -> list[Evaluation]:
    # spawn: forking a process that holds threads (a store, a server) can deadlock the child
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=_receive, initargs=shared) as pool:
        futures = {pool.submit(_evaluate, w, layout): k for k, (w, layout) in enumerate(jobs)}
        results: dict[int, Evaluation] = {}
        try:
            for future in as_completed(futures):
                results[futures[future]] = future.result()
                report(len(results), len(jobs))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [results[k] for k in range(len(jobs))]


def _receive(workloads: Sequence[Workload], settings: Settings, contract: Contract) -> None:
    global _shared
    _shared = (workloads, settings, contract)


def _evaluate(workload: int, layout: Layout) -> Evaluation:
    if _shared is None:
        raise RuntimeError("a sweep process was started without its workloads")
    workloads, settings, contract = _shared
    return evaluate(workloads[workload], layout, settings, contract)
