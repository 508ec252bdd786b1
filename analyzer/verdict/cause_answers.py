"""Causes of a window as they are told: by share, with evidence, confidence and the next step."""

from dataclasses import dataclass

import numpy as np

from analyzer.verdict.attribution import Attribution
from analyzer.verdict.causes import IN_ORDER
from analyzer.verdict.confidence import confidence_of
from analyzer.verdict.evidence import Evidence
from analyzer.verdict.rule import Rule
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Outcome
from analyzer.verdict.vocabulary import CAUSES, Cause


@dataclass(frozen=True)
class CauseAnswer:
    """One cause of a window; `requests` may be fractional."""

    cause: Cause
    requests: float
    share: float
    excess_ttft: tuple[float, float] | None
    """p50 and p95 of the seconds it added to TTFT."""
    excess_tpot: tuple[float, float] | None
    would_have_met_without_it: int
    confidence: float
    evidence: list[Evidence]
    next_step: str


def answers(s: Situation, found: Attribution) -> list[CauseAnswer]:
    """Causes by share, largest first."""
    missed = len(s.rows)
    if not missed:
        return []
    total = found.shares.sum(axis=0)
    out = []
    for column in np.argsort(-total, kind="stable").tolist():
        if total[column] <= 0:
            continue
        cause = CAUSES[column]
        chosen = found.shares[:, column] > 0
        rule = rule_of(found, cause)
        out.append(
            CauseAnswer(
                cause,
                float(total[column]),
                float(total[column] / missed),
                _spread(found.ttft_seconds[:, column]),
                _spread(found.tpot_seconds[:, column]),
                int(found.would_have_met[:, column].sum()),
                confidence_of(s, found, cause, rule),
                rule.explain(s, chosen) if rule else [],
                rule.next_step if rule else _WITHOUT_RULE,
            )
        )
    return out + _behind_orphans(s, out)


ORPHANS = (Cause.UNCLAIMED, Cause.LEAKED, Cause.RESERVED_NEVER_FILLED)


def _behind_orphans(s: Situation, told: list[CauseAnswer]) -> list[CauseAnswer]:
    """`cancelled`, without a share of its own, where departed clients left the orphans that are to blame."""
    blamed = [answer for answer in told if answer.cause in ORPHANS and answer.share >= 0.05]
    if not blamed or any(answer.cause is Cause.CANCELLED for answer in told):
        return []
    owners = s.transfers.request[s.ledger.transfer[s.ledger.orphan]]
    left = s.requests.outcome[owners] == Outcome.CANCELLED
    if left.mean() < 0.2:
        return []
    evidence = [Evidence("orphans_of_cancelled_requests", float(left.sum()), "hand-offs")]
    step = "Let a cancellation reach both pools: the KV of departed clients is what fills the cache."
    return [CauseAnswer(Cause.CANCELLED, 0.0, 0.0, None, None, 0, blamed[0].confidence, evidence, step)]


_WITHOUT_RULE = "Switch on what is listed as missing; then ask again."


def rule_of(found: Attribution, cause: Cause) -> Rule | None:
    """The rule that claimed most for a cause."""
    own = [
        (amount, number)
        for number, (rule, amount) in enumerate(found.asked)
        if rule.cause is cause and amount > 0
    ]
    if own:
        return found.asked[max(own)[1]][0]
    if cause is Cause.INSUFFICIENT_EVIDENCE:
        return None
    return next((rule for rule in IN_ORDER if rule.cause is cause), None)


def _spread(values: np.ndarray) -> tuple[float, float] | None:
    known = values[values > 0]
    return (float(np.median(known)), float(np.percentile(known, 95))) if len(known) else None
