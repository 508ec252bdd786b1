"""Primary causes of misses over time."""

from collections import Counter

import numpy as np

from analyzer.verdict.attribution import CAUSES
from analyzer.verdict.diagnosis import Diagnosis


def causes_by_step(found: Diagnosis, step_s: int) -> dict[int, Counter[str]]:
    """Misses by primary cause, by the start (Unix nanoseconds) of the step in which they started."""
    s = found.situation
    if not len(s.rows):
        return {}
    step_ns = step_s * 1_000_000_000
    started = np.round(s.of(s.requests.start) * 1e9).astype(np.int64) + s.loaded.origin_ns
    pairs = np.column_stack([started // step_ns, found.attribution.primary])
    out: dict[int, Counter[str]] = {}
    for (step, column), many in zip(*np.unique(pairs, axis=0, return_counts=True), strict=True):
        out.setdefault(int(step) * step_ns, Counter())[str(CAUSES[column])] += int(many)
    return out
