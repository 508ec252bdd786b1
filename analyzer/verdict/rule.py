"""The shape of a rule: it claims a fraction of the excess of one part of missed requests, and says why."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analyzer.verdict.evidence import Evidence
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags, Floats
from analyzer.verdict.vocabulary import Cause

Claim = Callable[[Situation], Floats]
"""Fraction (0 to 1) of the part's excess that is the cause's, for each missed request."""
Explain = Callable[[Situation, Flags], list[Evidence]]
"""Evidence for the missed requests that the cause has a share in."""


@dataclass(frozen=True)
class Rule:
    """One cause in one or more parts of a request's time.

    Parts are those of TTFT_PARTS; `tpot.` and a member of DECODE_PARTS for the decode interval; `failure` for
    requests that were not answered. Rules of a part are asked in order: each claims of what is left.
    """

    cause: Cause
    parts: tuple[str, ...]
    claim: Claim
    explain: Explain
    next_step: str
    needs: tuple[str, ...] = ()
    """Signals without which it does not claim; named as missing when that leaves a miss unexplained."""
    excludes: str = ""
    """What speaks against it, in words (docs)."""
    confidence: float = 0.9
    """How sure it is when all it needs was observed."""


def everything(s: Situation) -> Floats:
    """Claim all that is left."""
    return np.ones(len(s.rows))


def where(chosen: Flags) -> Floats:
    """Claim all that is left of the chosen requests."""
    return np.asarray(chosen, bool).astype(np.float64)
