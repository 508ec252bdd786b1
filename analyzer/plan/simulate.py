"""Step-level simulation of a layout: every step of every worker, summed in stretches."""

import numpy as np
import numpy.typing as npt

from analyzer.plan.coupled import run_coupled
from analyzer.plan.gather import event_times, gather
from analyzer.plan.instance import Instance, Role
from analyzer.plan.kv_cost import exposed_each
from analyzer.plan.layout import Colocated, Disaggregated, Layout, Pool, Routing, Settings
from analyzer.plan.outcome import End, Floats, Run
from analyzer.plan.workload import Workload


def simulate(workload: Workload, layout: Layout, settings: Settings) -> Run:
    """What `layout` does to `workload`; BadPlan when the layout cannot run with `settings`.

    Workers that cannot influence each other are run one after the other, which is fast; with anything
    that ties them together (load-aware routing, limited KV between pools, leases, lost workers) they run
    on one clock. Both ways give the same figures where both apply.
    """
    settings.check(layout)
    if on_one_clock(layout, settings):
        return run_coupled(workload, layout, settings)
    if isinstance(layout, Colocated):
        return _colocated(workload, layout, settings)
    return _disaggregated(workload, layout, settings)


def on_one_clock(layout: Layout, settings: Settings) -> bool:
    """Whether workers influence each other, so that they must be simulated side by side."""
    if settings.routing is not Routing.ROUND_ROBIN or settings.losses:
        return True
    limited = settings.kv_tokens != float("inf") or settings.lease_s != float("inf")
    return isinstance(layout, Disaggregated) and limited


def _colocated(workload: Workload, layout: Colocated, settings: Settings) -> Run:
    end = np.zeros(len(workload), np.int8)
    need = workload.columns.prompt + workload.columns.output
    end[need > settings.kv_tokens] = End.TOO_LARGE
    requests = np.flatnonzero(end == End.OK)
    workers = [
        Instance(
            Role.COLOCATED, settings.model, workload, layout.chunk, settings.max_seqs, settings.kv_tokens,
            settings.exact,
        )
        for _ in range(layout.workers)
    ]  # fmt: skip
    deal(workers, workload.columns.arrival_s, requests)
    first = event_times(len(workload), (worker.prefilled for worker in workers))
    return gather(workload, layout, first, end, {Pool.COLOCATED: workers})


def _disaggregated(workload: Workload, layout: Disaggregated, settings: Settings) -> Run:
    model, seqs, exact = settings.model, settings.max_seqs, settings.exact
    prefill = [
        Instance(Role.PREFILL, model, workload, layout.prefill_budget, seqs, settings.kv_tokens, exact)
        for _ in range(layout.prefill)
    ]
    columns = workload.columns
    deal(prefill, columns.arrival_s, np.arange(len(workload)))
    done = event_times(len(workload), (worker.prefilled for worker in prefill))
    exposed = exposed_each(settings.transfer, columns.prompt, columns.uncached, model.compute_s_per_token)
    first = done + exposed
    decode = [
        Instance(Role.DECODE, model, workload, 0, seqs, settings.kv_tokens, exact)
        for _ in range(layout.decode)
    ]
    deal(decode, first, np.argsort(first, kind="stable"))
    end = np.zeros(len(workload), np.int8)
    return gather(workload, layout, first, end, {Pool.PREFILL: prefill, Pool.DECODE: decode})


def deal(workers: list[Instance], at: Floats, order: npt.NDArray[np.int64]) -> None:
    """Give every n-th request of `order` to each of n workers, at its time, and run them to the end."""
    for k, worker in enumerate(workers):
        mine = order[k :: len(workers)]
        worker.inject_all(at[mine].tolist(), mine.tolist())
        worker.advance(float("inf"))
