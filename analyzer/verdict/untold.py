"""What is known of misses that no cause explains: how they failed, and within what their time lies."""

from typing import Any

import numpy as np

from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import PART
from collector.phases import Phase

MOSTLY = 0.5
"""Share of the uncovered time of TTFT that must lie within phases timed as one, and of such misses that must
have the same phases, for the sentence to name them."""


def untold(s: Situation, counts: Any) -> str:
    """A clause for the sentence about a window; '' when nothing more is known."""
    failed = [
        f"{number:,} {how}"
        for how, number in (("were refused", counts.rejected), ("failed", counts.errored))
        if number
    ]
    return "".join(f"; {clause}" for clause in (" and ".join(failed), _within(s)) if clause)


def _within(s: Situation) -> str:
    """The phases that hold the time of most late first tokens, where spans time them as one."""
    bounded, phases = s.of(s.requests.composite), s.of(s.requests.within)
    gap = s.exposed[:, PART["unattributed"]]
    late = ~s.failed & (s.over_ttft > 0)
    held = late & (phases > 0) & (bounded > MOSTLY * gap) & (gap > MOSTLY * s.over_ttft)
    if not held.any() or held.sum() < MOSTLY * late.sum():
        return ""
    masks, numbers = np.unique(phases[held], return_counts=True)
    mask, number = int(masks[numbers.argmax()]), int(numbers.max())
    if number < MOSTLY * held.sum():
        return ""
    names = [str(phase).replace("_", " ") for place, phase in enumerate(Phase) if mask >> place & 1]
    return f"of {number:,} it lies within {', '.join(names[:-1])} and {names[-1]}, which spans time as one"
