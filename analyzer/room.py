"""Waits on decode that end as a stream of the same worker ends: what was waited for is the room it left.

A control path that is slow ends when it ends; only by chance just after a stream does.
"""

import numpy as np

from analyzer.occupancy import groups
from analyzer.verdict.tables import Codes, Flags, Floats

ENOUGH = 10
"""Waits of a worker needed to tell how they end."""
MOSTLY = 0.5
"""Share of a worker's waits that end as a stream ends, from which on they are waits for its room."""
OVER_CHANCE = 2.0
"""So many times the share that would do so by chance."""


def taken_as_room_came(workers: Codes, until: Floats, holders: Codes, left: Floats, within: float) -> Flags:
    """Whether each wait (its worker, its end) ended within so many seconds after a stream there did, where
    most of that worker's waits do and chance explains no more than half of that.

    holders, left: worker and end of each stream, seconds; nan where it is not known.
    """
    out = np.zeros(len(workers), bool)
    ends = {code: np.sort(left[own]) for code, own in groups(holders)}
    for code, own in groups(workers):
        gone = ends.get(code, np.zeros(0))
        gone, waits = gone[np.isfinite(gone)], own[np.isfinite(until[own])]
        if code == 0 or len(waits) < ENOUGH or not len(gone):
            continue
        last = np.searchsorted(gone, until[waits], "right") - 1
        just_left = (last >= 0) & (until[waits] - gone[np.maximum(last, 0)] <= within)
        lasts = max(float(until[waits].max() - until[waits].min()), within)
        during = gone[(gone >= until[waits].min()) & (gone <= until[waits].max())]
        chance = float(np.minimum(np.diff(during), within).sum() + within) / lasts
        if just_left.mean() >= max(MOSTLY, OVER_CHANCE * chance):
            out[waits] = just_left
    return out


def as_a_rule(workers: Codes, asked: Flags, found: Flags, least: float) -> Flags:
    """What was found of those asked about, of workers where at least so large a share of them was."""
    out = np.zeros(len(workers), bool)
    for _, members in groups(workers):
        own = members[asked[members]]
        if len(own) and found[own].mean() >= least:
            out[own] = found[own]
    return out
