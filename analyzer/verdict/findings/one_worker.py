"""Which worker misses gather on, where what is sent does not tell why they missed."""

import numpy as np

from analyzer.verdict.attribution import COLUMN, Attribution
from analyzer.verdict.evidence import number
from analyzer.verdict.findings.finding import Finding
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
UNKNOWN = 0.5
"""Share of their misses that no cause explains: a cause that is known says more than where."""
LONGEST = 0.95
"""Prompts are as long as those that siblings answered in time: up to this quantile of these."""


def worker_alone(s: Situation, found: Attribution) -> Finding | None:
    """Misses that nothing explains, on some workers of a pool while their siblings' requests met."""
    told = [
        (share, pool, names, missed, judged, spared)
        for pool, workers in (("prefill", s.pools.prompt_worker), ("decode", s.requests.decode_worker))
        if (gathered := _gathered(s, found, workers)) is not None
        for share, names, missed, judged, spared in [gathered]
    ]
    if not told:
        return None
    _, pool, names, missed, judged, spared = max(told)
    detail = (
        f"{missed} of {judged} requests missed on {pool} {', '.join(names[:3])}, "
        f"while {spared} on the other {pool} workers met"
    )
    return Finding("path_specific", "warning", detail, missed, number(f"{pool}.missed", missed, "requests"))


def _gathered(
    s: Situation, found: Attribution, workers: Codes
) -> tuple[float, list[str], int, int, int] | None:
    """(share of all misses, workers, their misses, their judged, their siblings' met); None when even."""
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
    unknown = found.shares[np.isin(s.rows, np.flatnonzero(missed & on)), COLUMN[Cause.INSUFFICIENT_EVIDENCE]]
    if unknown.mean() < UNKNOWN:
        return None
    names = sorted(s.name(int(code)) for code in hot)
    return share, names, int((missed & on).sum()), int(on.sum()), int((off & ~missed).sum())


def _share(chosen: Flags, of: Flags) -> float:
    return float((chosen & of).sum() / of.sum()) if of.sum() >= ENOUGH else 0.0


def _longer(s: Situation, these: Flags, than: Flags) -> bool:
    """Whether the prompts of some are longer than nearly all of the others'."""
    tokens = s.requests.input_tokens
    known = than & np.isfinite(tokens)
    return bool(known.any() and np.nanmedian(tokens[these]) > np.quantile(tokens[known], LONGEST))
