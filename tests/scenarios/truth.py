"""What really happened and why: by playing the same seed again without each fault.

A request that missed is owed to the fault without which it would have met. Where either fault's removal
would have been enough, or neither alone, the shares are the faults' average contributions to the miss
over both orders of adding them (Shapley value of the excess over the objective). The window's cause is
the one with the largest share of misses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .faults import Fault
from .life import Life
from .model import Run
from .spec import Objective

NONE = "none"
CLOSE = 0.15  # shares of the window that are this close are both right


def met(life: Life, objective: Objective) -> bool | None:
    """Whether a request met both objectives; None for a client that left (counted apart)."""
    if life.outcome == "cancelled":
        return None
    ttft, tpot = life.ttft_s(), life.tpot_s()
    in_time = ttft is not None and ttft <= objective.ttft
    return life.outcome == "ok" and in_time and (tpot is None or tpot <= objective.tpot)


def excess(life: Life, objective: Objective) -> float:
    """How far a request is past its objectives, in units of them; a failed one counts as once more."""
    ttft, tpot = life.ttft_s(), life.tpot_s()
    over = max(0.0, (ttft or 0.0) / objective.ttft - 1.0) + max(0.0, (tpot or 0.0) / objective.tpot - 1.0)
    return over + (1.0 if life.outcome in ("error", "timeout") else 0.0)


@dataclass(frozen=True)
class Verdict:
    """The truth of one request. `without`: by fault, whether it would have met without it."""

    index: int
    outcome: str
    ttft: float | None
    tpot: float | None
    met: bool | None
    cause: str
    shares: dict[str, float]
    without: dict[str, bool]

    def caused_by(self, cause: str) -> bool:
        """Whether a cause is right for this request: the largest share of the miss, or about as large."""
        return cause == self.cause or self.shares.get(cause, 0.0) >= 0.4


@dataclass(frozen=True)
class Truth:
    """The truth of a scenario. Runs are keyed by the names of the faults that were planted in them."""

    objective: Objective
    faults: tuple[Fault, ...]
    runs: dict[frozenset[str], Run]

    @property
    def played(self) -> Run:
        """The run that is shown: with every fault."""
        return self.runs[frozenset(fault.name for fault in self.faults)]

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Every request's, in order of arrival."""
        return [self._verdict(i) for i in range(len(self.played.lives))]

    @cached_property
    def evaluated(self) -> int:
        """Requests that count for the objective."""
        return sum(v.met is not None for v in self.verdicts)

    @cached_property
    def missed(self) -> list[Verdict]:
        """Requests that did not meet it."""
        return [v for v in self.verdicts if v.met is False]

    @cached_property
    def shares(self) -> dict[str, float]:
        """Share of the misses by cause; adds up to 1 where there are any."""
        total: dict[str, float] = {}
        for verdict in self.missed:
            for cause, share in verdict.shares.items():
                total[cause] = total.get(cause, 0.0) + share / len(self.missed)
        return dict(sorted(total.items(), key=lambda item: -item[1]))

    @property
    def attained(self) -> bool:
        """Whether the target fraction met the objective: then there is nothing to blame."""
        return self.evaluated == 0 or len(self.missed) <= (1.0 - self.objective.target) * self.evaluated

    @property
    def dominant(self) -> str:
        """The window's cause."""
        return NONE if self.attained or not self.shares else next(iter(self.shares))

    @property
    def acceptable(self) -> set[str]:
        """Causes that are right as the window's: the dominant one, and what has about as large a share."""
        if self.dominant == NONE:
            return {NONE}
        top = self.shares[self.dominant]
        return {cause for cause, share in self.shares.items() if share > top - CLOSE and cause != NONE}

    def would_have_met(self, cause: str) -> int:
        """Missed requests that would have met without the faults of this cause."""
        return sum(self.meets_without(cause, verdict) is True for verdict in self.missed)

    def meets_without(self, cause: str, verdict: Verdict) -> bool | None:
        """Whether a request would have met without what did this to it; None where no fault did."""
        life = self.played.lives[verdict.index]
        told = [
            verdict.without[fault.name]
            for fault in self.faults
            if fault.label(life, self.objective) == cause or fault.cause == cause
        ]
        return any(told) if told else None

    def _life(self, names: frozenset[str], i: int) -> Life:
        return self.runs[names].lives[i]

    def _verdict(self, i: int) -> Verdict:
        everything = frozenset(fault.name for fault in self.faults)
        life = self._life(everything, i)
        ok = met(life, self.objective)
        rest = {
            f.name: met(self._life(everything - {f.name}, i), self.objective) is not False
            for f in self.faults
        }
        shares = {NONE: 1.0} if ok is not False else self._shares(i, life, rest)
        cause = max(shares, key=lambda name: shares[name])
        return Verdict(i, life.outcome, life.ttft_s(), life.tpot_s(), ok, cause, shares, rest)

    def _shares(self, i: int, life: Life, without: dict[str, bool]) -> dict[str, float]:
        enough = [fault for fault in self.faults if without[fault.name]]
        if len(enough) == 1:
            return {enough[0].label(life, self.objective): 1.0}
        weights = {fault: self._contribution(fault, i) for fault in self.faults}
        total = sum(weights.values())
        if total <= 0.0:
            return {NONE: 1.0}
        shares: dict[str, float] = {}
        for fault, weight in weights.items():
            cause = fault.label(life, self.objective)
            shares[cause] = shares.get(cause, 0.0) + weight / total
        return shares

    def _contribution(self, fault: Fault, i: int) -> float:
        """Average of what the fault adds to the excess when planted first and when planted last."""
        everything, alone = frozenset(f.name for f in self.faults), frozenset({fault.name})
        steps = ((everything, everything - alone), (alone, frozenset[str]()))
        added = [
            excess(self._life(a, i), self.objective) - excess(self._life(b, i), self.objective)
            for a, b in steps
        ]
        return max(0.0, sum(added) / 2)
