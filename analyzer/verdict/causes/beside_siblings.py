"""How much a worker had, beside the other workers of its pool at that time."""

import numpy as np

from analyzer.occupancy import Occupancy
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Codes, Floats


def beside_siblings(
    s: Situation, pool: str, own: Codes, level: Occupancy, since: Floats, until: Floats
) -> tuple[Floats, Floats]:
    """Mean level over [since, until] of each worker in `own`, and the median of its siblings that were there.

    Arrays of one length; pool: 'prefill' or 'decode'. Infinite where no sibling was there. One that came
    later was no choice: the request had been sent elsewhere.
    """
    workers = s.pools.siblings(pool)
    levels = np.full((len(workers), len(own)), np.nan)
    for row, code in enumerate(workers.tolist()):
        there = s.pools.available(int(code), (since + until) / 2) & (since >= s.pools.told_from(int(code)))
        there &= own != code
        one = np.full(int(there.sum()), code, np.uint64)
        levels[row, there] = level.mean(one, since[there], until[there])
    levels[:, ~np.isfinite(levels).any(axis=0)] = np.inf
    return level.mean(own, since, until), np.nanmedian(levels, axis=0)
