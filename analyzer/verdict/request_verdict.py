"""The verdict on one request, out of the diagnosis of its window."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from analyzer.verdict.attribution import CAUSES, COLUMN
from analyzer.verdict.cause_answers import rule_of
from analyzer.verdict.diagnosis import Diagnosis
from analyzer.verdict.evidence import Evidence
from analyzer.verdict.load import positions
from analyzer.verdict.missing import Missing, missing_signals
from analyzer.verdict.tables import PHASE, Account, ClockOffset
from analyzer.verdict.vocabulary import Cause


@dataclass(frozen=True)
class RequestVerdict:
    """Why one request missed; `none` when it met its objective."""

    cause: Cause
    causes: dict[str, float]
    confidence: float | None
    evidence: list[Evidence] = field(default_factory=list)
    counterfactual: str | None = None
    missing: list[Missing] = field(default_factory=list)
    next_step: str | None = None


NONE = RequestVerdict(Cause.NONE, {str(Cause.NONE): 1.0}, 1.0)


def row_of(found: Diagnosis, key: str) -> int | None:
    """Row of a request by its key (32 hex digits); None when the window does not hold it."""
    wanted = np.frombuffer(bytes.fromhex(key), "<u8").reshape(1, 2)
    row = int(positions(found.situation.requests.key, wanted)[0])
    return row if row >= 0 else None


def shares_of(found: Diagnosis, key: str) -> dict[str, float] | None:
    """Causes of one request with their shares; None when it is not evaluated or not in the window."""
    row = row_of(found, key)
    if row is None:
        return None
    account = found.situation.requests.account[row]
    if account == Account.MET:
        return {str(Cause.NONE): 1.0}
    at = np.flatnonzero(found.situation.rows == row)
    if account != Account.MISSED or not len(at):
        return None
    shares = found.attribution.shares[at[0]]
    ordered = np.argsort(-shares, kind="stable")
    return {str(CAUSES[c]): round(float(shares[c]), 4) for c in ordered.tolist() if shares[c] > 0}


def keys_with(found: Diagnosis, cause: Cause) -> np.ndarray:
    """Rows of the requests whose primary cause it is."""
    primary = found.attribution.primary
    rows: np.ndarray = found.situation.rows[primary == COLUMN[cause]]
    return rows


def verdict_of(found: Diagnosis, key: str) -> RequestVerdict | None:
    """Everything about one request's miss; None when it is not evaluated."""
    shares = shares_of(found, key)
    if shares is None:
        return None
    cause = Cause(next(iter(shares)))
    if cause is Cause.NONE:
        return NONE
    s, a = found.situation, found.attribution
    row = row_of(found, key)
    chosen = s.rows == row
    rule = rule_of(a, cause)
    answer = next((item for item in found.causes if item.cause is cause), None)
    column = COLUMN[cause]
    removed = float(a.ttft_seconds[chosen, column][0])
    would = bool(a.would_have_met[chosen, column][0])
    seen = np.isfinite(s.requests.phase_from[row])
    observed = [name for name, number in PHASE.items() if seen[number]]
    return RequestVerdict(
        cause,
        shares,
        round((answer.confidence if answer else 0.5) * next(iter(shares.values())), 3),
        rule.explain(s, chosen) if rule else [],
        _counterfactual(cause, removed, float(a.tpot_seconds[chosen, column][0]), would),
        missing_signals(observed) if cause is Cause.INSUFFICIENT_EVIDENCE and not rule else [],
        rule.next_step if rule else None,
    )


def _counterfactual(cause: Cause, ttft_s: float, tpot_s: float, would: bool) -> str | None:
    if cause is Cause.INSUFFICIENT_EVIDENCE:
        return None
    shorter = []
    if ttft_s > 0:
        shorter.append(f"{ttft_s:.3f} s of TTFT")
    if tpot_s > 0:
        shorter.append(f"{tpot_s * 1e3:.1f} ms a token")
    met = "would have met" if would else "would still have missed"
    return f"{cause} cost it {' and '.join(shorter) or 'its success'}; without that it {met} the objective."


def clocks_of(found: Diagnosis, row: Mapping[str, Any]) -> list[ClockOffset]:
    """What was subtracted from the stamps of a request's workers."""
    mine = {row["prefill_worker"], row["decode_worker"]}
    at = int(row["bucket"]) // 300 * 300 * 10**9
    return [
        item
        for item in found.situation.loaded.clocks
        if item.slice_ns == at and item.worker in mine and item.offset_ns
    ]
