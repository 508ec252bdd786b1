"""Which worker misses gather on, where their causes do not say it."""

from dataclasses import dataclass

import numpy as np

from analyzer.verdict.attribution import COLUMN, Attribution
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Account, Codes, Flags
from analyzer.verdict.vocabulary import Cause

ENOUGH = 5
"""Judged requests of a worker, and of its siblings together, from which on their shares of misses compare."""
MOST = 0.5
"""A worker stands out when more than this share of its requests missed, …"""
FEW = 0.1
"""… while less than this share of its siblings' did, …"""
GATHERED = 0.8
"""… and this share of all misses lies on workers that do."""
WITHOUT_PLACE = (Cause.INSUFFICIENT_EVIDENCE, Cause.DECODE_BOUND, Cause.PREFILL_BOUND)
UNPLACED = 0.5
"""Share of their misses whose causes say nothing of where: other causes look at siblings themselves."""
LONGEST = 0.95
"""Prompts are as long as those that siblings answered in time: up to this quantile of these."""


@dataclass(frozen=True)
class Alone:
    """Workers of one pool on which requests missed, beside siblings on which they did not."""

    pool: str
    names: tuple[str, ...]
    missed: int
    judged: int
    spared: int
    """Requests that met on their siblings."""
    share: float
    """Of all misses."""

    @property
    def detail(self) -> str:
        """In words."""
        return (
            f"{self.missed} of {self.judged} requests missed on {self.pool} {', '.join(self.names[:3])}, "
            f"while {self.spared} on the other {self.pool} workers met"
        )


def worker_alone(s: Situation, found: Attribution) -> Alone | None:
    """Misses whose causes don't say where, on some workers of a pool while their siblings' requests met."""
    sides = (("prefill", s.pools.prompt_worker), ("decode", s.requests.decode_worker))
    told = [alone for pool, workers in sides if (alone := _gathered(s, found, pool, workers)) is not None]
    return max(told, key=lambda alone: (alone.share, alone.missed / alone.judged), default=None)


def _gathered(s: Situation, found: Attribution, pool: str, workers: Codes) -> Alone | None:
    r = s.requests
    judged = r.inside & (workers != 0) & np.isin(r.account, (Account.MET, Account.MISSED))
    missed = judged & r.missed
    codes = np.unique(workers[judged])
    hot = [code for code in codes if _share(missed, judged & (workers == code)) > MOST]
    on = judged & np.isin(workers, hot)
    off = judged & ~on
    if not hot or len(hot) == len(codes) or min((missed & on).sum(), off.sum()) < ENOUGH:
        return None
    share = float((missed & on).sum() / max(1, r.missed.sum()))
    if share < GATHERED or _share(missed, off) >= FEW or _longer(s, missed & on, off & ~missed):
        return None
    shares = found.shares[np.isin(s.rows, np.flatnonzero(missed & on))]
    if shares[:, [COLUMN[cause] for cause in WITHOUT_PLACE]].sum(axis=1).mean() < UNPLACED:
        return None
    names = tuple(sorted(s.name(int(code)) for code in hot))
    return Alone(pool, names, int((missed & on).sum()), int(on.sum()), int((off & ~missed).sum()), share)


def _share(chosen: Flags, of: Flags) -> float:
    return float((chosen & of).sum() / of.sum()) if of.sum() >= ENOUGH else 0.0


def _longer(s: Situation, these: Flags, than: Flags) -> bool:
    """Whether the prompts of some are longer than nearly all of the others'."""
    tokens = s.requests.input_tokens
    own, others = (tokens[chosen & np.isfinite(tokens)] for chosen in (these, than))
    return bool(len(own) and len(others) and np.median(own) > np.quantile(others, LONGEST))
