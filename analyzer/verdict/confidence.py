"""How sure a window's cause is: what its rule needs was observed, it stands out, it was seen often enough."""

import numpy as np

from analyzer.verdict.attribution import CAUSES, COLUMN, Attribution
from analyzer.verdict.rule import Rule
from analyzer.verdict.situation import Situation
from analyzer.verdict.vocabulary import Cause

DERIVED = 0.85
"""Factor where the pool's state had to be rebuilt from timelines, no gauge telling."""
POOL_CAUSES = (
    Cause.PREFILL_STARVED,
    Cause.DECODE_STARVED,
    Cause.OVERLOAD,
    Cause.UNCLAIMED,
    Cause.LEAKED,
    Cause.RESERVED_NEVER_FILLED,
)


PREFILL_UNSEEN = 0.75
"""Factor where waits for prefill are not traced: that it was short as well cannot be excluded."""
MOSTLY = 0.5
CLEAR_COUNTS = 1.25
"""A cause that leads its rival by 80 % of its own share stands out as far as one can."""


def confidence_of(s: Situation, found: Attribution, cause: Cause, rule: Rule | None) -> float:
    """Between 0 and 1; for an abstention, how sure it is that the telemetry cannot decide."""
    base = rule.confidence if rule else 0.9
    if cause in POOL_CAUSES and not s.loaded.readings.has("kv_used_fraction"):
        base *= DERIVED
    if cause is Cause.DECODE_STARVED and _prefill_unseen(s):
        base *= PREFILL_UNSEEN
    total = found.shares.sum(axis=0)
    own = float(total[COLUMN[cause]])
    rival = max((float(total[COLUMN[other]]) for other in CAUSES if other is not cause), default=0.0)
    clear = np.clip((own - rival) / own, 0.0, 1.0) if own > 0 else 0.0
    many = len(s.rows)
    enough = 1.0 if many >= 10 else 0.85 + 0.015 * many
    return round(float(base * (0.55 + 0.45 * min(1.0, CLEAR_COUNTS * clear)) * enough), 3)


def _prefill_unseen(s: Situation) -> bool:
    """Whether most misses that went through two pools lack their wait for the first."""
    both = (s.prefill_worker != 0) & (s.prefill_worker != s.decode_worker)
    lacks = both & ~np.isfinite(s.wait("prefill_queue")[0])
    return bool(lacks.mean() > MOSTLY) if len(both) else False
