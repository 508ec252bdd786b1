"""Which orphans of the ledger were not read in time, which are never given back, and which were room for KV
that did not come. All give one flag a row of the ledger.
"""

import numpy as np

from analyzer.kv_ledger import State
from analyzer.occupancy import Occupancy
from analyzer.verdict.situation import Situation, once
from analyzer.verdict.tables import Flags, Freed

LATER = 1.5
"""Room held for so many times what decode waited before it gave other room up will not be given up."""
INSTANTS = 40
"""At so many instants a gauge is held against what spans say."""
OFF_BY = 0.15
MOSTLY = 0.9
"""A gauge that differs by less at most instants agrees: answers count half, as they grow."""
ENOUGH = 0.3
"""Of a cache; less room than that, kept or not, no gauge can tell from what streams hold."""


def leaked(s: Situation) -> Flags:
    """Ledger rows that were not reclaimed although lease and limit are over."""
    held = s.ledger.state == State.HELD
    found: Flags = s.ledger.orphan & ~s.ledger.on_decode & (held | s.ledger.past_lease)
    return found


@once
def leaked_on_decode(s: Situation) -> Flags:
    """Room on decode that nobody gives back although its request is over and every fair wait with it.

    That no span gives it back says so only where decode's releases are traced and tell of no more room than
    they leave out, or where its cache gauge reads as full as it would be.
    """
    back = s.transfers.given_back_why != Freed.NO
    unfilled, held = _never_filled(s), s.ledger.until - s.ledger.since
    never = unfilled & ~back[s.ledger.transfer]
    given_up = held[unfilled & ~never].max(initial=0.0)
    overdue: Flags = never & (held > np.maximum(2 * s.ledger.limit, LATER * given_up))
    as_a_rule = back.any() and 2 * never.sum() >= unfilled.sum()
    return overdue if overdue.any() and (as_a_rule or _gauge_bears_out(s, never)) else overdue & False


def _gauge_bears_out(s: Situation, never: Flags) -> bool:
    """Whether decode's caches are as full as streams and orphans, this room kept, would make them."""
    book, r = s.ledger, s.requests
    tokens = r.input_tokens + np.nan_to_num(r.output_tokens) / 2
    streams = Occupancy(r.decode_worker, *s.pools.streams, tokens)
    kept, every = book.orphans_held(True, never), book.orphans_held(True)
    at = np.linspace(float(book.since[never].min()), book.horizon, INSTANTS)
    fits = []
    for code in kept.workers:
        worker = np.full(INSTANTS, code, np.uint64)
        capacity, used = s.pools.kv_capacity(worker), s.pools.kv_used(worker, at)
        known = np.isfinite(used) & np.isfinite(capacity)
        off = np.abs((every.level(worker, at) + streams.level(worker, at)) / capacity - used)[known]
        most = (kept.level(worker, at) / capacity)[known].max(initial=0.0)
        fits.append(known.any() and np.quantile(off, MOSTLY) <= OFF_BY and most >= ENOUGH)
    return bool(fits) and all(fits)


def unclaimed(s: Situation) -> Flags:
    """Ledger rows that ended by expiry or abort."""
    return s.ledger.orphan & ~s.ledger.on_decode & ~leaked(s)


def reserved(s: Situation) -> Flags:
    """Room on decode that was never filled, and was given back or may yet be."""
    return _never_filled(s) & ~leaked_on_decode(s)


def _never_filled(s: Situation) -> Flags:
    """Room on decode for KV that did not come.

    Where no offer of KV is traced, room whose prompt was computed may wait for KV that was offered and is
    not claimed; where no wait for prefill is traced, the prompt of other room may still wait. Neither counts.
    """
    owner = s.transfers.request[s.ledger.transfer]
    computed = np.isfinite(s.requests.ended("prefill_compute"))[owner]
    offers = np.isfinite(s.transfers.published).any()
    waits = np.isfinite(s.requests.began("prefill_queue")).any()
    untold = np.where(computed, not offers, not waits)
    found: Flags = s.ledger.orphan & s.ledger.on_decode & ~untold
    return found
