"""Turns of conversations: how each is served, and whether the design suits one-shot prompts only."""

from dataclasses import dataclass

import numpy as np

from analyzer.occupancy import groups
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Account, Floats, Index, Requests

MOST_TURNS = 20
ENOUGH = 5
"""Requests of a turn below which nothing is said about it."""
WORSE = 1.3
"""From this ratio of TTFT per uncached token on, later turns are served worse than first ones."""
AGAIN = 0.3
"""From this part of the tokens sent on, sending what decode holds is worth a word."""
SIGMAS = 3.0
"""How far, in standard errors, the missed parts of first and later turns must lie apart."""


@dataclass(frozen=True)
class Turn:
    """Requests that are the n-th turn of their conversation. Fractions are None when nothing says."""

    turn: int
    requests: int
    input_tokens: float | None
    cached_fraction: float | None
    appended: int
    recomputed: int
    resent_fraction: float | None
    """Tokens sent that decode already held ÷ tokens sent, as the hand-offs say (observed)."""
    resent_at_most: float | None
    """The same if decode still held all of the turn before, which it decoded (bounded)."""
    same_decode_fraction: float | None
    """Turns decoded by the worker that decoded the turn before."""
    ttft: float | None
    evaluated: int
    missed: int

    @property
    def missed_fraction(self) -> float | None:
        """Of those that were evaluated."""
        return self.missed / self.evaluated if self.evaluated else None


@dataclass(frozen=True)
class Conversations:
    """Turns, and what they say about the way they are served."""

    conversations: int
    turns: list[Turn]
    note: str | None


@dataclass(frozen=True)
class _Order:
    """Per request: the number of its turn (0: no conversation) and the row of the turn before (-1: none)."""

    turn: Index
    before: Index


def conversations(s: Situation, rows: Index) -> Conversations:
    """Describe the turns of some of the window's requests, numbered from what was loaded before it, too."""
    order = _order(s.requests)
    named = rows[order.turn[rows] > 0]
    if not len(named):
        return Conversations(0, [], None)
    last = min(int(order.turn[named].max()), MOST_TURNS)
    turns = [_turn(s, turn, named[order.turn[named] == turn], order) for turn in range(1, last + 1)]
    turns = [turn for turn in turns if turn.requests]
    return Conversations(len(np.unique(s.requests.conversation[named])), turns, _note(turns))


def _order(r: Requests) -> _Order:
    """Order the requests of each conversation by their start."""
    turn, before = np.zeros(len(r), np.intp), np.full(len(r), -1, np.intp)
    named = np.flatnonzero(r.conversation != 0)
    by_start = named[np.argsort(r.start[named], kind="stable")]
    for _, members in groups(r.conversation[by_start]):
        of_it = by_start[members]
        turn[of_it] = np.arange(1, len(of_it) + 1)
        before[of_it[1:]] = of_it[:-1]
    return _Order(turn, before)


def _turn(s: Situation, turn: int, rows: Index, order: _Order) -> Turn:
    r = s.requests
    prompt, cached = r.input_tokens[rows], r.cached_tokens[rows]
    local = r.local_prompt_tokens[rows] > 0
    previous = order.before[rows]
    stayed = (r.decode_worker[rows] == r.decode_worker[previous]) & (r.decode_worker[rows] != 0)
    known = (previous >= 0) & (r.decode_worker[rows] != 0) & (r.decode_worker[previous] != 0)
    return Turn(
        turn,
        len(rows),
        _median(prompt),
        _ratio(cached, prompt),
        int((local & r.appended[rows]).sum()),
        int((local & ~r.appended[rows]).sum()),
        _ratio(*_sent(s, rows)),
        _ratio(*_sent_if_kept(s, rows, previous, stayed & known)) if known.any() else None,
        float(stayed[known].mean()) if known.any() else None,
        _median(r.ttft[rows]),
        int(np.isin(r.account[rows], (Account.MET, Account.MISSED)).sum()),
        int((r.account[rows] == Account.MISSED).sum()),
    )


def _sent(s: Situation, rows: Index) -> tuple[Floats, Floats]:
    """Tokens that decode held already, and tokens sent, by hand-off."""
    hand_off = s.hand_off[rows]
    hand_off = hand_off[hand_off >= 0]
    return s.transfers.already_held_tokens[hand_off], s.transfers.tokens[hand_off]


def _sent_if_kept(s: Situation, rows: Index, previous: Index, stayed: np.ndarray) -> tuple[Floats, Floats]:
    """Tokens of the turn before that the same worker decoded, at most those sent; and tokens sent."""
    r, hand_off = s.requests, s.hand_off[rows]
    moved = (hand_off >= 0) & (previous >= 0)
    sent = s.transfers.tokens[hand_off[moved]]
    whole = r.input_tokens[previous[moved]] + np.nan_to_num(r.output_tokens[previous[moved]])
    # The turn before may be longer than what this one sends: caches elsewhere already cut that down.
    kept = np.minimum(np.where(stayed[moved], whole, 0.0), sent)
    return kept, sent


def _ratio(part: Floats, whole: Floats) -> float | None:
    """Sum ÷ sum over those that know both."""
    known = np.isfinite(part) & np.isfinite(whole)
    total = whole[known].sum()
    return float(part[known].sum() / total) if known.any() and total > 0 else None


def _median(values: Floats) -> float | None:
    return float(np.nanmedian(values)) if np.isfinite(values).any() else None


def _note(turns: list[Turn]) -> str | None:
    """Say whether later turns fare worse than first ones, and through what; None when nothing shows it."""
    first, later = turns[0], [turn for turn in turns[1:] if turn.requests >= ENOUGH]
    if first.turn != 1 or not later:
        return None
    said = [text for text in (_misses_more(first, later), _waits_longer(first, later)) if text]
    again = _sends_again(later)
    if again and (said or "already" in again):
        said.insert(0, again)
    return f"{'; '.join(said)}: the design suits one-shot prompts" if said else None


def _sends_again(later: list[Turn]) -> str | None:
    told = max((turn.resent_fraction or 0.0 for turn in later), default=0.0)
    if told >= AGAIN:
        return f"later turns send {told:.0%} of tokens that decode already holds"
    silent = all(turn.resent_fraction is None for turn in later)
    bound = max((turn.resent_at_most or 0.0 for turn in later), default=0.0)
    if silent and bound >= AGAIN:
        return f"later turns send up to {bound:.0%} of tokens that decode may still hold"
    return None


def _misses_more(first: Turn, later: list[Turn]) -> str | None:
    """Compare missed parts of two groups by their standard error."""
    before, count = first.missed_fraction, sum(turn.evaluated for turn in later)
    if before is None or min(first.evaluated, count) < ENOUGH:
        return None
    missed = sum(turn.missed for turn in later)
    after, pooled = missed / count, (first.missed + missed) / (first.evaluated + count)
    error = (pooled * (1 - pooled) * (1 / first.evaluated + 1 / count)) ** 0.5
    if not error or after - before < SIGMAS * error:
        return None
    return f"{after:.0%} of later turns miss, {before:.0%} of first ones"


def _waits_longer(first: Turn, later: list[Turn]) -> str | None:
    if first.ttft is None or not first.input_tokens:
        return None
    fresh = [
        (turn.ttft, turn.input_tokens * (1 - (turn.cached_fraction or 0.0)))
        for turn in later
        if turn.ttft and turn.input_tokens
    ]
    per_token = [ttft / new for ttft, new in fresh if new > 0]
    if per_token and float(np.median(per_token)) > WORSE * first.ttft / first.input_tokens:
        return "later turns wait longer per new token than first ones, as if their prefix were not reused"
    return None
