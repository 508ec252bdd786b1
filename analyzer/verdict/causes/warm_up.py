"""Until when a worker that was started is cold: for two minutes, or until a few uses in a row cost what they
usually do. What first uses pay (compiling, graph capture, connections) is paid by the number of uses, not by
the clock: at a low rate it lasts longer.
"""

import numpy as np

from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Codes, Flags, Floats

WARM_UP_S = 120.0
"""How long after a process started its uses may still be cold, whatever others in between cost."""
LONGEST_S = 900.0
"""A worker that is still slow a quarter of an hour after its start is slow."""
IN_A_ROW = 3
USUAL = 2.0
"""Up to so many times what is normal for it, a use is a usual one."""


def while_cold(s: Situation, workers: Codes, began: Floats, ratio: Floats) -> Flags:
    """Per request: whether its worker was cold as its use began. ratio: what the use took over the usual."""
    cold = np.zeros(len(workers), bool)
    for code in np.unique(workers[workers != 0]).tolist():
        worker = s.loaded.workers.get(int(code))
        for start in worker.starts if worker else ():
            own = (workers == code) & (began >= start)
            until = start + WARM_UP_S
            if _seen_from_the_start(s, start, began[own]):
                until = max(until, min(_warm_from(began[own], ratio[own]), start + LONGEST_S))
            cold |= own & (began <= until)
    return cold


def usual_later(workers: Codes, began: Floats, ratio: Floats) -> Flags:
    """Per request: whether a few usual uses in a row of its worker began after its own."""
    out = np.zeros(len(workers), bool)
    for code in np.unique(workers[workers != 0]).tolist():
        own = np.flatnonzero((workers == code) & np.isfinite(began))
        own = own[np.argsort(began[own])]
        usual = ratio[own] < USUAL
        if len(own) < IN_A_ROW:
            continue
        in_a_row = np.flatnonzero(np.convolve(usual, np.ones(IN_A_ROW), "valid") >= IN_A_ROW)
        if len(in_a_row):
            out[own] = began[own] < began[own[in_a_row[-1]]]
    return out


def _seen_from_the_start(s: Situation, start: float, uses: Floats) -> bool:
    """Whether the first of the uses that are known is the first there was: requests from before the start are
    known as well, or it came soon after.
    """
    return bool(len(uses) and (s.requests.start.min() <= start or uses.min() <= start + WARM_UP_S))


def _warm_from(began: Floats, ratio: Floats) -> float:
    """When the first of a few usual uses in a row began; -inf where there never are as many: then it is not
    the start that makes them slow.
    """
    order = np.argsort(began)
    usual = ratio[order] < USUAL
    if len(usual) < IN_A_ROW:
        return -np.inf
    in_a_row = np.convolve(usual, np.ones(IN_A_ROW), "valid") >= IN_A_ROW
    return float(began[order][in_a_row.argmax()]) if in_a_row.any() else -np.inf
