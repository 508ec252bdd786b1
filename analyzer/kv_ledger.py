"""What became of every published KV cache and every reservation: read, still held, given back unread.

Definitions are the telemetry convention's: an orphan was published and never imported, and ended by expiry or
abort or is held for longer than max(lease, p99 request time); or it is room on decode that was never filled.
Imported after its lease ended is a late read. What is younger than the limit is open, not an orphan.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from analyzer.occupancy import Occupancy
from analyzer.verdict.tables import Codes, Flags, Floats, Freed, Outcome, Requests, Status, Transfers


class State(IntEnum):
    """Where a hand-off stands."""

    OPEN = 0
    """Published or reserved, neither read nor old enough to be called an orphan."""
    IMPORTED = 1
    RELEASED = 2
    """Given back unread for a good reason: the request was cancelled or failed, or its worker was lost."""
    EXPIRED = 3
    ABORTED = 4
    HELD = 5
    """Held past the limit and not given back."""
    NEVER_FILLED = 6


ORPHANS = (State.EXPIRED, State.ABORTED, State.HELD, State.NEVER_FILLED)


@dataclass(frozen=True)
class Ledger:
    """One row per hand-off and side that holds KV for it; seconds from origin."""

    transfer: np.ndarray
    """Row of `Transfers`."""
    on_decode: Flags
    worker: Codes
    state: np.ndarray
    since: Floats
    until: Floats
    """When it was given back; the horizon while it is held."""
    tokens: Floats
    bytes: Floats
    lease: Floats
    """Length of the lease; nan when none was told."""
    past_lease: Flags
    """Given back, or still held, clearly after its lease ended."""
    late_read: Flags
    """Per row of `Transfers`: imported after its lease ended."""
    adopted: Flags
    """Per row of `Transfers`: read under another name than it was published under."""
    limit: float
    horizon: float

    @property
    def orphan(self) -> Flags:
        """Rows that are orphans."""
        return np.isin(self.state, ORPHANS)

    def orphans_held(self, on_decode: bool, kind: Flags | None = None) -> Occupancy:
        """Tokens (or hand-offs where tokens are unknown) held by orphans over time, by worker."""
        chosen = self.orphan & (self.on_decode == on_decode)
        if kind is not None:
            chosen &= kind
        weight = np.where(np.isfinite(self.tokens[chosen]), self.tokens[chosen], 1.0)
        return Occupancy(self.worker[chosen], self.since[chosen], self.until[chosen], weight)


LATE_RELEASE = 0.05
"""A lease that ended is found by a reaper a little later: this share of its length is not "not enforced"."""
REAPED_WITHIN_S = 2.0
"""Nor is so short a time: engines look for leases that ended between two steps, and a step may take long."""
DEFAULT_LEASE_S = 30.0
"""Only for the limit, when no publish told a lease: vLLM's default, the shortest known."""


def ledger(transfers: Transfers, requests: Requests, horizon: float, doubt: float = 0.0) -> Ledger:
    """Work out the state of every hand-off as of `horizon` (the newest instant that telemetry covers).

    doubt: seconds by which instants of two processes may be out of step, where clocks had to be set right.
    """
    lasted = requests.lasted[np.isfinite(requests.lasted)]
    p99 = float(np.percentile(lasted, 99)) if len(lasted) else 0.0
    lease = transfers.lease_end - transfers.published
    known = lease[np.isfinite(lease) & (lease > 0)]
    limit = max(float(np.median(known)) if len(known) else 0.0, p99)
    adopted = _adopted(transfers)
    read = _was_read(transfers, requests) | adopted
    late = _late_reads(transfers, doubt)
    prefill = _prefill_side(transfers, read, limit, horizon)
    decode = _decode_side(transfers, requests, read, limit, horizon)
    joined = [np.concatenate([a, b]) for a, b in zip(prefill, decode, strict=True)]
    row, worker, state, since, until, tokens, size = joined
    on_decode = np.arange(len(row)) >= len(prefill[0])
    of_lease = np.where(on_decode, np.nan, lease[row])
    held = until - since
    over = held - of_lease > np.maximum(LATE_RELEASE * of_lease, REAPED_WITHIN_S)
    past = np.isfinite(of_lease) & over & ~np.isin(state, (State.IMPORTED,))
    return Ledger(
        row,
        on_decode,
        worker,
        state,
        since,
        until,
        tokens,
        size,
        of_lease,
        past,
        late,
        adopted,
        limit,
        horizon,
    )


def _was_read(t: Transfers, requests: Requests) -> Flags:
    """Whether decode got the KV: an import or a transfer was seen and none of its spans says it failed."""
    seen = np.isfinite(t.imported) | np.isfinite(t.moved) | (t.freed_why == Freed.IMPORTED)
    first = np.isfinite(requests.began("first_decode_step")) | np.isfinite(requests.ttft) & ~requests.censored
    unnamed = (t.transfer_id == _NO_NAME) & first[t.request]
    found: Flags = (seen | unnamed | _used(t, requests, seen)) & ~t.gave_up
    return found


def _used(t: Transfers, requests: Requests, seen: Flags) -> Flags:
    """The last offer of requests that were answered and of which neither a read nor a return is traced, where
    reads are not traced as a rule: without it their answer would have cost decode the prompt.
    """
    last = np.full(len(requests), -1, np.intp)
    offered = np.flatnonzero(np.isfinite(t.published))
    order = offered[np.argsort(t.attempt[offered], kind="stable")]
    last[t.request[order]] = order
    read_or_back = np.bincount(
        t.request[seen | t.gave_up | (t.freed_why != Freed.NO)], minlength=len(requests)
    )
    answered = requests.answered & (last >= 0)
    out = np.zeros(len(t), bool)
    traced = np.bincount(t.request[seen], minlength=len(requests)) > 0
    if not answered.any() or traced[answered].mean() >= TRACED:
        return out
    own = answered & (read_or_back == 0) & ~(requests.local_prompt_tokens > 0)
    out[last[own]] = True
    return out


TRACED = 0.5
"""Share of answered requests of which a read is known, from which on one of which none is has not read."""
_NO_NAME = np.uint64(11160318154034397263)
"""cityHash64 of the empty text: hand-offs that carry no id of their own."""


def _adopted(t: Transfers) -> Flags:
    """Published under one name, read under another of the same request and attempt: a renamed hand-off."""
    published = np.isfinite(t.published)
    read = np.isfinite(t.imported) | np.isfinite(t.moved)
    stray = read & ~published & np.isin(t.status, (Status.UNKNOWN, Status.OK))
    strays = np.bincount(t.request[stray], minlength=int(t.request.max(initial=-1)) + 1)
    unread = published & ~read
    out = np.zeros(len(t), bool)
    out[unread] = strays[t.request[unread]] > 0
    return out


def _late_reads(t: Transfers, doubt: float) -> Flags:
    """Read after the lease ended: the producer had given it back, or its last deadline had passed.

    A producer that gave it back as expired did not know of a read: within the doubt of the clocks it was
    later.
    """
    done = np.fmax(t.imported, t.moved)
    after_release = np.isfinite(t.expired) & (done > t.expired - doubt)
    renewed_enough = ~np.isfinite(t.lease_end) | (done <= t.lease_end)
    freed_on_read = t.freed_why == Freed.IMPORTED
    found: Flags = np.isfinite(done) & (
        after_release | (~renewed_enough & ~freed_on_read & (t.freed_why != Freed.NO))
    )
    return found


_Side = tuple[np.ndarray, ...]


def _prefill_side(t: Transfers, read: Flags, limit: float, horizon: float) -> _Side:
    row = np.flatnonzero(np.isfinite(t.published) & (t.producer != 0))
    why, freed = t.freed_why[row], t.freed[row]
    gone = why != Freed.NO
    since = t.published[row]
    until = np.where(gone, np.maximum(freed, since), horizon)
    state = np.select(
        [
            read[row],
            why == Freed.EXPIRED,
            why == Freed.ABORTED,
            gone,
            horizon - since > limit,
        ],
        [State.IMPORTED, State.EXPIRED, State.ABORTED, State.RELEASED, State.HELD],
        State.OPEN,
    )
    ended = np.fmax(t.imported[row], t.moved[row])
    until = np.where((state == State.IMPORTED) & ~gone & np.isfinite(ended), np.maximum(ended, since), until)
    return row, t.producer[row], state, since, until, t.tokens[row], t.bytes[row]


def _decode_side(t: Transfers, requests: Requests, read: Flags, limit: float, horizon: float) -> _Side:
    """Room that decode set aside: never filled once it was given back, its request ended, or it waited past
    the limit.

    Where KV was offered it could have been filled: a request that was answered after all, or stood in
    decode's queue until its deadline, holds nothing once it left.
    """
    row = np.flatnonzero(np.isfinite(t.reserved) & (t.consumer != 0))
    gone = t.given_back_why[row] != Freed.NO
    since = t.reserved[row]
    waited = horizon - since > limit
    over = np.isfinite(t.reserved_until[row]) & np.isfinite(requests.lasted[t.request[row]])
    served = requests.answered | (requests.outcome == Outcome.TIMEOUT)
    left = over & ~gone & np.isfinite(t.published[row]) & served[t.request[row]]
    until = np.where(gone, np.maximum(t.given_back[row], since), horizon)
    state = np.select(
        [read[row], left, gone | waited | over],
        [State.IMPORTED, State.RELEASED, State.NEVER_FILLED],
        State.OPEN,
    )
    done = np.isin(state, (State.IMPORTED, State.RELEASED))
    until = np.where(done, np.fmax(t.reserved_until[row], since), until)
    tokens = np.where(np.isfinite(t.reserved_tokens[row]), t.reserved_tokens[row], t.tokens[row])
    size = np.where(np.isfinite(t.reserved_bytes[row]), t.reserved_bytes[row], t.bytes[row])
    return row, t.consumer[row], state, since, until, tokens, size


def peak_weight(worker_free: Floats, since: Floats, until: Floats) -> float:
    """Most weight held at one instant; what ends as something else begins does not add to it."""
    at = np.concatenate([since, until])
    change = np.concatenate([worker_free, -worker_free])
    order = np.lexsort((np.concatenate([np.ones(len(since)), np.zeros(len(until))]), at))
    return float(np.cumsum(change[order]).max(initial=0.0))
