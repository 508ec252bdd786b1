"""What is known of misses that no cause explains: how they failed, and within what their time lies."""

from typing import Any

import numpy as np

from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import PART, Flags
from collector.phases import Phase

AT_ONCE = 0.02
"""An answer of which only this share of its time is left after its first token came in one piece."""
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
    late = ~s.failed & (s.over_ttft > 0)
    whole = late & _in_one_piece(s)
    all_at_once = f"{int(whole.sum()):,} had their answers in one piece, the first token with the last"
    clauses = (" and ".join(failed), all_at_once if whole.any() else "", _within(s, late & ~whole))
    return "".join(f"; {clause}" for clause in clauses if clause)


def _in_one_piece(s: Situation) -> Flags:
    """Answers of several tokens whose first came when they were over."""
    r = s.requests
    several = ~(s.of(r.output_tokens) <= 1)
    found: Flags = several & ~(s.of(r.tpot) > 0) & (s.of(r.lasted) - s.of(r.ttft) < AT_ONCE * s.of(r.lasted))
    return found


def _within(s: Situation, late: Flags) -> str:
    """The phases that hold the time of most late first tokens, where spans time them as one."""
    bounded, phases = s.of(s.requests.composite), s.of(s.requests.within)
    gap = s.exposed[:, PART["unattributed"]]
    held = late & (phases > 0) & (bounded > MOSTLY * gap) & (gap > MOSTLY * s.over_ttft)
    if not held.any() or held.sum() < MOSTLY * late.sum():
        return ""
    masks, numbers = np.unique(phases[held], return_counts=True)
    mask, number = int(masks[numbers.argmax()]), int(numbers.max())
    if number < MOSTLY * held.sum():
        return ""
    names = [str(phase).replace("_", " ") for place, phase in enumerate(Phase) if mask >> place & 1]
    return f"of {number:,} it lies within {', '.join(names[:-1])} and {names[-1]}, which spans time as one"
