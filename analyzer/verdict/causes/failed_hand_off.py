"""Requests that failed because their hand-off did: sides that do not match, a peer that was replaced,
or KV that nobody took.
"""

import numpy as np

from analyzer.kv_ledger import State
from analyzer.verdict.causes.agreement import (
    at_odds_with_decode,
    differing_pairs,
    renamed_without_read,
)
from analyzer.verdict.evidence import Evidence, count, number
from analyzer.verdict.rule import Rule, where
from analyzer.verdict.situation import Situation, once
from analyzer.verdict.tables import PART, Account, Flags, Floats, Status
from analyzer.verdict.vocabulary import Cause

MUCH_MORE = 5.0
"""Failures per hand-off of a stale producer, over those of the others."""


def hand_off_failed(s: Situation) -> Flags:
    """Unanswered requests whose KV was published (or room reserved) and did not come over."""
    t = s.transfers
    own = np.zeros(len(s.requests), bool)
    own[t.request[t.gave_up]] = True
    lost = s.ledger.orphan | (s.ledger.state == State.RELEASED)
    own[t.request[s.ledger.transfer[lost]]] = True
    return s.failed & own[s.rows]


def mismatch(s: Situation) -> Floats:
    """Hand-offs between sides that differ in what both must agree on, or name one hand-off differently."""
    pair = differing_pairs(s, s.prefill_worker, s.decode_worker)
    pair |= (s.decode_worker == 0) & np.isin(s.prefill_worker, list(at_odds_with_decode(s)))
    return where(hand_off_failed(s) & (pair | renamed_without_read(s)[s.rows]))


def stale_producers(s: Situation) -> set[int]:
    """Producers whose hand-offs fail after a consumer was replaced, while others' to the same succeed."""
    r = s.requests
    judged = np.isin(r.account, (Account.MET, Account.MISSED)) & (r.prefill_worker != 0) & r.inside
    bad = np.zeros(len(r), bool)
    bad[s.rows[hand_off_failed(s)]] = True
    codes = np.unique(r.prefill_worker[judged])
    if len(codes) < 2 or not _consumer_replaced(s):
        return set()
    rates = np.array([bad[judged & (r.prefill_worker == code)].mean() for code in codes])
    usual = float(np.median(rates)) if (rates > 0).mean() < 0.5 else float(rates.min())
    return {int(c) for c, rate in zip(codes, rates, strict=True) if rate > MUCH_MORE * usual and rate > 0.02}


def _consumer_replaced(s: Situation) -> bool:
    """Whether a decode process is known to have been started anew, or started after the first hand-offs."""
    begun = float(s.requests.start.min()) if len(s.requests) else 0.0
    workers = (s.loaded.workers.get(int(code)) for code in s.pools.decode_workers.tolist())
    return any(w is not None and (len(w.starts) > 1 or any(t > begun for t in w.starts)) for w in workers)


def stale(s: Situation) -> Floats:
    """Failed hand-offs from those producers."""
    return where(hand_off_failed(s) & np.isin(s.prefill_worker, list(stale_producers(s))))


@once
def condemned_pairs(s: Situation) -> dict[tuple[int, int], bool]:
    """Pairs (producer, consumer) whose hand-offs all fail from some instant on, while both sides hand off to
    and from others without failures; and whether they worked before.

    A path or a machine that is broken fails others, too: what is left is what one side keeps of the other.
    """
    r = s.requests
    both = (r.prefill_worker != 0) & (r.decode_worker != 0) & r.inside
    judged = np.flatnonzero(both & np.isin(r.account, (Account.MET, Account.MISSED)))
    bad = np.zeros(len(r), bool)
    bad[s.rows[hand_off_failed(s)]] = True
    found = {}
    failing = judged[bad[judged]]
    pairs = zip(r.prefill_worker[failing].tolist(), r.decode_worker[failing].tolist(), strict=True)
    for producer, consumer in sorted(set(pairs)):
        sends, takes = r.prefill_worker[judged] == producer, r.decode_worker[judged] == consumer
        own, others = judged[sends & takes], (judged[sends & ~takes], judged[takes & ~sends])
        since = r.start[own[bad[own]]].min()
        after = bad[own[r.start[own] >= since]]
        alone = all(len(rows) >= ENOUGH and bad[rows].mean() <= FEW for rows in others)
        if alone and len(after) >= ENOUGH and after.mean() >= 1 - FEW:
            found[producer, consumer] = len(own) > len(after)
    return found


ENOUGH = 5
"""Hand-offs of a pair, and of either side with others, needed to tell that the pair alone fails."""
FEW = 0.05


def condemned(s: Situation) -> Floats:
    """Failed hand-offs of pairs that worked and then never again, while both sides work with others."""
    pairs = [pair for pair, worked in condemned_pairs(s).items() if worked]
    own = [(s.prefill_worker == producer) & (s.decode_worker == consumer) for producer, consumer in pairs]
    return where(hand_off_failed(s) & np.any([*own, np.zeros(len(s.rows), bool)], axis=0))


def expired(s: Situation) -> Floats:
    """Failed requests whose lease ended while their decode leg was there to read it."""
    t = s.transfers
    ended = np.isfinite(t.expired) | (t.status == Status.EXPIRED)
    asked = np.isfinite(t.asked) | np.isfinite(t.import_start) | (t.status == Status.EXPIRED)
    r = s.requests
    queued = r.began("decode_queue")[t.request] > t.published
    waited = queued & (r.ended("decode_queue")[t.request] >= t.expired)
    own = np.zeros(len(r), bool)
    own[t.request[ended & (asked | waited)]] = True
    return where(s.failed & own[s.rows])


UNTRACED = 0.05
"""Share of answered requests without any span of decode from which on decode is not traced everywhere."""


def decode_untraced(s: Situation) -> Flags:
    """Missed requests of whose decode leg nothing is seen, where that happens to answered ones as well."""
    r = s.requests
    phases = ("decode_queue", "kv_import", "first_decode_step", "decode")
    seen = np.any([np.isfinite(r.began(phase)) for phase in phases], axis=0)
    answered = r.answered & (s.pools.prompt_worker != 0)
    untraced = bool(answered.any()) and (~seen[answered]).mean() >= UNTRACED
    return ~s.of(seen) & untraced


def unclaimed(s: Situation) -> Floats:
    """Failed requests that left KV which no decode took."""
    own = np.zeros(len(s.requests), bool)
    chosen = s.ledger.orphan & ~s.ledger.on_decode
    own[s.transfers.request[s.ledger.transfer[chosen]]] = True
    return where(s.failed & own[s.rows] & ~decode_untraced(s))


def never_filled(s: Situation) -> Floats:
    """Failed requests for which decode held room that was never filled, and nothing was published.

    Not those that waited for prefill, and none where such waits are not traced.
    """
    if not np.isfinite(s.requests.began("prefill_queue")).any():
        return np.zeros(len(s.rows))
    own = np.zeros(len(s.requests), bool)
    held = s.ledger.transfer[s.ledger.orphan & s.ledger.on_decode]
    own[s.transfers.request[held[~np.isfinite(s.transfers.published[held])]]] = True
    queued = s.exposed[:, PART["prefill_queue"]] > 0.5 * np.nan_to_num(s.of(s.requests.lasted))
    return where(s.failed & own[s.rows] & ~queued)


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """How many, and from how many producers."""
    return [
        *count("failed_hand_offs", hand_off_failed(s)),
        *number("producers_concerned", float(len(np.unique(s.prefill_worker[chosen]))), "workers"),
        *number("prefill.workers", float(len(s.pools.prefill_workers)), "workers"),
    ]


VERSION_MISMATCH = Rule(
    Cause.VERSION_MISMATCH, ("failure",), mismatch, explain,
    "Bring both sides to the same connector version, layout and id scheme; "
    "roll out in an order that keeps pairs alike.",
    needs=("pd.compat.*",), excludes="pairs that agree and name hand-offs alike",
)  # fmt: skip
STALE_PEER = Rule(
    Cause.STALE_PEER, ("failure",), stale, explain,
    "Restart the producers concerned, or make the connector forget a peer that was replaced: "
    "the others work.",
    needs=("process.creation.time",), excludes="failures spread evenly over producers",
)  # fmt: skip
CONDEMNED = Rule(
    Cause.STALE_PEER, ("failure",), condemned, explain,
    "One side calls a peer dead that is not: restart the producer of the pair, and let the connector try "
    "again after a transient error.",
    needs=("kv_transfer",), excludes="failures of one side with several others; pairs that never worked",
    confidence=0.7,
)  # fmt: skip
EXPIRED = Rule(
    Cause.EXPIRED_BEFORE_READ,
    ("failure",),
    expired,
    explain,
    "Lengthen the lease beyond the longest hand-off, or renew it by heartbeat: decode came, too late.",
    needs=("kv_publish", "kv_release"),
    excludes="hand-offs that no decode ever asked for",
)
UNCLAIMED = Rule(
    Cause.UNCLAIMED, ("failure",), unclaimed, explain,
    "Find why decode never read it (crash, rejection); "
    "shorten the lease so that unread KV is given back sooner.",
    needs=("kv_publish", "kv_release"),
    excludes="hand-offs that were read, or may have been where not all of decode is traced",
)  # fmt: skip
NEVER_FILLED = Rule(
    Cause.RESERVED_NEVER_FILLED, ("failure",), never_filled, explain,
    "Find why prefill never delivered, and tell decode sooner: it waited for KV that did not come.",
    needs=("decode_queue",), excludes="reservations that were filled", confidence=0.7,
)  # fmt: skip
