"""Where each simulated request was when: on which worker, from when until when."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analyzer.plan.layout import Pool
from analyzer.plan.outcome import Floats, Run

Workers = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Lanes:
    """Columns per request, seconds; nan where it never came so far, worker -1 where none was reached.

    The prompt waits until `prefill_from` and is computed until `prefill_until`; `first_s` is its first token
    (with two pools: its KV has arrived); it decodes from `decode_from` to `last_s`. Of several attempts: the
    last. Worker numbers count within the pool; a worker that was lost and came back has two.
    """

    prefill_worker: Workers
    prefill_from: Floats
    prefill_until: Floats
    first_s: Floats
    decode_worker: Workers
    decode_from: Floats
    last_s: Floats


def lanes(run: Run) -> Lanes:
    """The lanes of every request of `run`."""
    prompt = run.workers.get(Pool.PREFILL) or run.workers[Pool.COLOCATED]
    stream = run.workers.get(Pool.DECODE) or prompt
    n = len(run.workload)
    begun, _ = _latest(n, (worker.begun for worker in prompt))
    prefilled, prefill_worker = _latest(n, (worker.prefilled for worker in prompt))
    joined, decode_worker = _latest(n, (worker.joined for worker in stream))
    return Lanes(prefill_worker, begun, prefilled, run.first_s, decode_worker, joined, run.last_s)


def _latest(requests: int, events: Iterable[Sequence[tuple[float, int]]]) -> tuple[Floats, Workers]:
    """Per request the time of its latest event and the number of the list it is in."""
    at, worker = np.full(requests, np.nan), np.full(requests, -1, np.int32)
    for number, pairs in enumerate(events):
        if not pairs:
            continue
        times, ids = np.array(pairs, np.float64).T
        rows = ids.astype(np.int64)
        newer = ~(at[rows] > times)
        at[rows[newer]], worker[rows[newer]] = times[newer], number
    return at, worker
