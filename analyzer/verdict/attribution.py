"""Shares of causes in every missed request, and what would have been without each cause.

For a request that missed, each part's excess goes to the rules of that part in order. What the baseline of
its own prompt leaves above the objective is the prompt's (`prefill_bound`); ordinary queueing in a pool with
room is nobody's and is spread over what is known. TTFT's and TPOT's shares are weighed by how far each was
missed, and add up to 1. A request nothing explains is `insufficient_evidence`.
"""

from dataclasses import dataclass

import numpy as np

from analyzer.verdict.causes import rules_of
from analyzer.verdict.causes.chance import RULE as BY_CHANCE
from analyzer.verdict.causes.chance import leave
from analyzer.verdict.causes.handover_overhead import outlasts_bytes
from analyzer.verdict.causes.pool_state import AMPLE
from analyzer.verdict.counterfactual import would_have_met
from analyzer.verdict.rule import Rule
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import DECODE_PART, PART, Flags, Floats, Index
from analyzer.verdict.vocabulary import CAUSES, COLUMN, Cause
from collector.phases import TTFT_PARTS

TRIFLE = 0.1
"""A cause with less of a miss is left out of it, and the others fill its place."""
SIGNIFICANT = 0.04
"""A cause of less than this share of the objective's TTFT is scatter that any request has."""
UNEXPLAINED = 0.4
"""A transfer this share of which is excess that no rule claims is a question, not scatter."""
MINOR = 0.25
"""Where what is claimed explains less of a miss, the rest is said to be unknown, not left to the claims."""
CLOSE = 0.8
"""A prompt that by itself takes so much of the objective misses for its length, whatever wait is added."""
COMPUTE_RULES = 0.4
"""Share of a request's normal time that must be prefill for the rest to be called prefill-bound."""


@dataclass(frozen=True)
class Attribution:
    """Shares (missed requests, causes of CAUSES), each row adding up to 1."""

    shares: Floats
    ttft_seconds: Floats
    """(missed, causes): seconds of TTFT each cause claimed."""
    tpot_seconds: Floats
    """(missed, causes): seconds per token each cause claimed."""
    would_have_met: Flags
    """(missed, causes): met without that cause."""
    asked: list[tuple[Rule, float]]
    """Rules with the seconds (or requests) they claimed in all."""

    @property
    def primary(self) -> Index:
        """Column of the largest share of each missed request."""
        found: Index = self.shares.argmax(axis=1)
        return found


class _Ledger:
    """Adds up what rules claim."""

    def __init__(self, size: int):
        self.by_part: dict[str, Floats] = {}
        self.asked: list[tuple[Rule, float]] = []
        self._size = size

    def divide(self, part: str, amount: Floats, s: Situation) -> Floats:
        """Let the rules of a part claim of `amount`; returns what nobody claimed."""
        claimed = np.zeros((self._size, len(CAUSES)))
        left = amount.copy()
        for rule in rules_of(part):
            if not left.any():
                break
            took = left * np.clip(np.nan_to_num(rule.claim(s)), 0.0, 1.0)
            claimed[:, COLUMN[rule.cause]] += took
            self.asked.append((rule, float(took.sum())))
            left = left - took
        self.by_part[part] = claimed
        return left


def attribute(s: Situation) -> Attribution:
    """Work out the shares of a window's misses."""
    size = len(s.rows)
    book = _Ledger(size)
    failure = np.zeros((size, len(CAUSES)))
    if s.failed.any():
        book.divide("failure", s.failed.astype(float), s)
        failure = book.by_part["failure"]
    before_token = _before_first_token(s, book)
    per_token = _per_token(s, book)
    shares = _joined(s, before_token, per_token, failure)
    met = would_have_met(s, book.by_part, per_token, shares)
    return Attribution(shares, before_token, per_token, met, _telling(book.asked, before_token, per_token))


def _telling(asked: list[tuple[Rule, float]], before: Floats, per_token: Floats) -> list[tuple[Rule, float]]:
    """Without the rules that say why nobody is to blame where they hold for less than half of such time."""
    nobody = COLUMN[Cause.INSUFFICIENT_EVIDENCE]
    known = sum(amount for rule, amount in asked if rule.cause is Cause.INSUFFICIENT_EVIDENCE)
    if known >= 0.5 * (before[:, nobody].sum() + per_token[:, nobody].sum()):
        return asked
    return [(rule, amount) for rule, amount in asked if rule.cause is not Cause.INSUFFICIENT_EVIDENCE]


def _before_first_token(s: Situation, book: _Ledger) -> Floats:
    """(missed, causes) seconds of TTFT claimed; only for requests whose TTFT was missed."""
    missed = (s.over_ttft > 0) | s.failed
    out = np.zeros((len(s.rows), len(CAUSES)))
    ordinary = np.zeros(len(s.rows))
    for part in TTFT_PARTS:
        amount = np.where(missed, s.excess[:, PART[part]], 0.0)
        if part == "decode_queue":
            unseen = np.minimum(amount, _prefill_wait_unseen(s))
            out[:, COLUMN[Cause.INSUFFICIENT_EVIDENCE]] += unseen
            amount = amount - unseen
        left = book.divide(part, amount, s)
        out += book.by_part[part]
        if part in ("unattributed", "network_streaming", "decode_queue"):
            out[:, COLUMN[Cause.INSUFFICIENT_EVIDENCE]] += left
            continue
        if part == "prefill_queue":
            computed = np.isfinite(s.wait("prefill_compute")[0])
            unknown = np.where(s.prefill_short | ~computed, left, 0.0)
            out[:, COLUMN[Cause.INSUFFICIENT_EVIDENCE]] += unknown
            left = left - unknown
        if part == "kv_transfer":
            unknown = np.where(left > UNEXPLAINED * s.exposed[:, PART[part]], left, 0.0)
            out[:, COLUMN[Cause.INSUFFICIENT_EVIDENCE]] += unknown
            left = left - unknown
        ordinary += left
    out[:, COLUMN[Cause.INSUFFICIENT_EVIDENCE]] += np.where(missed, _unmeasured(s, out), 0.0)
    chance = 0.0
    if not outlasts_bytes(s, SIGNIFICANT):
        chance = leave(out, np.where(s.failed, 0.0, ordinary))
    out = np.where(out >= SIGNIFICANT * s.of(s.requests.ttft_limit)[:, None], out, 0.0)
    over = np.where(missed & ~s.failed, s.over_ttft, 0.0)
    lacking = np.maximum(over - out.sum(axis=1) - ordinary, 0.0)
    normal = (s.exposed - s.excess).sum(axis=1)
    close = ~out.any(axis=1) & (normal > CLOSE * s.of(s.requests.ttft_limit))
    lacking = np.where(close, over, lacking)
    prompt, claimed = _mostly_prompt(s), out.sum(axis=1)
    out[:, COLUMN[Cause.PREFILL_BOUND]] += np.where(prompt, lacking, 0.0)
    minor = ~prompt & (claimed < MINOR * over)
    out[:, COLUMN[Cause.INSUFFICIENT_EVIDENCE]] += np.where(minor, lacking, 0.0)
    waits = np.where(out.any(axis=1), 0.0, np.minimum(over, ordinary))
    _tell_of_chance(s, book, out, chance, waits)
    return out


def _unmeasured(s: Situation, out: Floats) -> Floats:
    """Seconds of transfers of which nothing says how long they should take, where they outweigh what is
    claimed: none of that is known to be what they take.
    """
    known = np.isfinite(s.of_hand_off(s.moving.expected))
    took = np.where(known, 0.0, s.exposed[:, PART["kv_transfer"]])
    return np.where(took > out.sum(axis=1), took, 0.0)


def _mostly_prompt(s: Situation) -> Flags:
    """Whether prefill is most of what a request takes anyway, and the objective leaves it little room."""
    normal = s.exposed - s.excess
    total = normal.sum(axis=1)
    compute = normal[:, PART["prefill_compute"]] >= COMPUTE_RULES * np.where(total > 0, total, np.inf)
    found: Flags = compute & (total > AMPLE * s.of(s.requests.ttft_limit))
    return found


def _tell_of_chance(s: Situation, book: _Ledger, out: Floats, left: float, waits: Floats) -> None:
    """Say that ordinary waits are why it abstains, where they are. left: seconds taken from what causes
    claimed; waits: (missed,) seconds of ordinary waits of requests for which nothing was claimed.
    """
    unknown = out[:, COLUMN[Cause.INSUFFICIENT_EVIDENCE]]
    chance = left + float(waits.sum())
    told = book.by_part["failure"].any(axis=1) if s.failed.any() else ~s.failed
    others = (s.failed & ~told).sum()
    mostly = chance >= 0.5 * (float(unknown.sum()) + float(waits.sum()))
    if chance > 0 and mostly and ((waits > 0) | (unknown > 0) & ~s.failed).sum() >= others:
        book.asked.append((BY_CHANCE, chance))


def _prefill_wait_unseen(s: Situation) -> Floats:
    """Seconds that decode had the request before its prompt was computed, where no span tells prefill's wait.

    Which of the two pools it waited for cannot be told. A request that ended unanswered, with no prompt
    computed where others' are seen to be, had waited for prefill all the time, or for decode.
    """
    since, began = s.wait("prefill_queue")[0], s.wait("prefill_compute")[0]
    computing = s.requests.began("prefill_compute")
    never = s.failed & ~np.isfinite(began) & np.isfinite(computing).any()
    before = np.where(never, np.inf, began - s.of(s.requests.began("decode_queue")))
    return np.where(np.isfinite(since), 0.0, np.maximum(np.nan_to_num(before, posinf=np.inf), 0.0))


def _per_token(s: Situation, book: _Ledger) -> Floats:
    """(missed, causes) seconds per token claimed; only for requests whose TPOT was missed."""
    missed = s.over_tpot > 0
    out = np.zeros((len(s.rows), len(CAUSES)))
    if not missed.any():
        return out
    tokens = np.maximum(s.of(s.requests.output_tokens) - 1, 1.0)
    parts = np.nan_to_num(s.of(s.requests.exposed_decode)) / tokens[:, None]
    needed = s.over_tpot.copy()
    for part in ("preempted", "recompute", "handoff", "blocked", "unattributed"):
        amount = np.where(missed, np.minimum(parts[:, DECODE_PART[part]], s.over_tpot), 0.0)
        amount = np.where(amount < 0.1 * s.over_tpot, 0.0, amount)
        needed -= amount
        if part == "handoff":
            out[:, COLUMN[Cause.HANDOVER_OVERHEAD]] += amount
            continue
        left = book.divide(f"tpot.{part}", amount, s)
        out += book.by_part[f"tpot.{part}"]
        out[:, COLUMN[Cause.INSUFFICIENT_EVIDENCE]] += left
    left = book.divide("tpot.running", np.where(missed, np.maximum(needed, 0.0), 0.0), s)
    out += book.by_part["tpot.running"]
    out[:, COLUMN[Cause.INSUFFICIENT_EVIDENCE]] += left
    return out


def _joined(s: Situation, before_token: Floats, per_token: Floats, failure: Floats) -> Floats:
    """Shares of each miss: failures first, then TTFT's and TPOT's by how far each was missed."""
    far_ttft = np.where(
        s.failed & ~np.isfinite(s.of(s.requests.tpot)), 1.0, s.over_ttft / s.of(s.requests.ttft_limit)
    )
    far_tpot = s.over_tpot / s.of(s.requests.tpot_limit)
    unknown = np.zeros_like(failure)
    unknown[:, COLUMN[Cause.INSUFFICIENT_EVIDENCE]] = 1.0
    ttft, tpot = _normalised(before_token, unknown), _normalised(per_token, unknown)
    far = np.maximum(far_ttft + far_tpot, 1e-12)
    slow = (ttft * far_ttft[:, None] + tpot * far_tpot[:, None]) / far[:, None]
    slow = _normalised(slow, unknown)
    rest = np.maximum(1.0 - failure.sum(axis=1), 0.0)
    shares = failure + slow * rest[:, None]
    shares = np.where(shares < TRIFLE, 0.0, shares)
    return _normalised(shares, unknown)


def _normalised(amounts: Floats, empty: Floats) -> Floats:
    total = amounts.sum(axis=1)
    return np.where(total[:, None] > 0, amounts / np.where(total > 0, total, 1.0)[:, None], empty)


__all__ = ["CAUSES", "COLUMN", "Attribution", "attribute"]
