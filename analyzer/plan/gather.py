"""From the events of simulated workers to the columns of a Run."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from analyzer.plan.instance import Instance
from analyzer.plan.layout import Layout, Pool
from analyzer.plan.outcome import End, Floats, Run
from analyzer.plan.workload import Workload


def event_times(requests: int, events: Iterable[list[tuple[float, int]]]) -> Floats:
    """Per request the time of its event; nan where there is none."""
    out = np.full(requests, np.nan)
    flat = chain.from_iterable(chain.from_iterable(events))
    at, request = np.fromiter(flat, np.float64).reshape(-1, 2).T
    out[request.astype(np.int64)] = at
    return out


def gather(
    workload: Workload,
    layout: Layout,
    first_s: Floats,
    end: npt.NDArray[np.int8],
    pools: Mapping[Pool, Sequence[Instance]],
    last_s: Floats | None = None,
    attempts: npt.NDArray[np.int32] | None = None,
) -> Run:
    """The Run of `workload`; `last_s` is read from the workers' finishes when it is not given."""
    workers = list(chain.from_iterable(pools.values()))
    if last_s is None:
        last_s = event_times(len(workload), (worker.finished for worker in workers))
    single = workload.columns.output == 1
    last_s = np.where(single, first_s, last_s)  # the first token is the last
    end = np.where((end == End.OK) & np.isnan(last_s), End.STUCK, end).astype(np.int8)
    flat = chain.from_iterable(worker.stretches for worker in workers)
    return Run(
        layout=layout,
        workload=workload,
        first_s=first_s,
        last_s=last_s,
        end=end,
        attempts=np.ones(len(workload), np.int32) if attempts is None else attempts,
        stretches=np.fromiter(flat, np.float64).reshape(-1, 5),
        busy_s={str(pool): tuple(worker.busy_s for worker in members) for pool, members in pools.items()},
        end_s=max((worker.t for worker in workers), default=0.0),
        workers={pool: tuple(members) for pool, members in pools.items()},
    )
