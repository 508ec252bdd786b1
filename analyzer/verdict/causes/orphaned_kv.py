"""KV that nobody will read fills the cache that new prompts (or hand-offs) need: unclaimed, leaked, reserved.

A queue is the orphans' when they hold most of a cache that is full; otherwise the cache has room and the wait
has another reason.
"""

from functools import partial

import numpy as np

from analyzer.occupancy import Occupancy
from analyzer.pools import FULL_KV, LONG_WAIT_STEPS
from analyzer.verdict.causes.orphan_kinds import leaked, leaked_on_decode, reserved, unclaimed
from analyzer.verdict.causes.pool_state import decode_is_full, prefill_idle
from analyzer.verdict.evidence import Evidence, count, median, number
from analyzer.verdict.rule import Rule, where
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Codes, Flags, Floats
from analyzer.verdict.vocabulary import Cause

WITHIN = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Where in a wait the gauge is read: it ends as room is found, when the gauge has fallen again."""
LIVE_SHARE = 0.6
POSSIBLE = 1.1
LEAST_OF_CAPACITY = 0.3
MOST = 0.5
"""Share of a cache's content, or of its capacity, from which on orphans are what fills it."""


def filled(s: Situation, workers: Codes, since: Floats, until: Floats, on_decode: bool) -> Floats:
    """1 where orphans held most of each worker's cache, and it was full, during the wait; else 0.

    Without them the cache would have had room, so the whole wait is theirs.
    """
    since, until = np.nan_to_num(since), np.nan_to_num(until)
    held = s.ledger.orphans_held(on_decode).mean(workers, since, until)
    if not held.any():
        return held
    alive = (s.pools.decode_held if on_decode else s.pools.prefill_held).mean(workers, since, until)
    capacity = s.pools.kv_capacity(workers)
    used = np.fmax.reduce([s.pools.kv_used(workers, since + part * (until - since)) for part in WITHIN])
    of_capacity = held / capacity
    of_content = held / np.maximum(held + alive, 1e-9)
    # gauges may leave out blocks that are set aside; what the spans hold, and work that stands still, tell
    # too
    full = (used >= FULL_KV - 0.1) | ((held + alive) / capacity >= FULL_KV - 0.2) | still(s, on_decode)
    full |= ~np.isfinite(used) & ~np.isfinite(capacity)
    if on_decode:
        # what waits in line has an id already: more than the cache can hold is not held, unless the gauge
        # shows that most of the cache is used by what does not run
        possible = ~(held > POSSIBLE * capacity) | (used - alive / capacity >= MOST)
        full &= ~live_is_most(s) & possible
    # where decode stands still beside its queue, whatever holds its room without running is to blame
    least = np.where(still(s, on_decode), MOST / 2, MOST) if on_decode else np.full(len(held), MOST)
    most = np.where(np.isfinite(of_capacity), of_capacity >= LEAST_OF_CAPACITY * least / MOST, True)
    fills = full & ((most & (of_content >= least)) | (of_capacity >= MOST))
    if on_decode:
        fills |= possible & ~(used >= FULL_KV - 0.1) & _all_slots_kept(s, workers, since, until)
    return where(fills)


def _all_slots_kept(s: Situation, workers: Codes, since: Floats, until: Floats) -> Flags:
    """Whether streams and orphans together were about as many as ever on a decode worker, and orphans many of
    them, during a long wait for it: then they hold its slots, however much room its cache has.
    """
    book, (began, ended) = s.ledger, s.pools.decode_taking
    kept = book.orphan & book.on_decode
    holder, held_from, held_until = book.worker[kept], _overtaken(s)[kept], book.until[kept]
    orphans = Occupancy(holder, held_from, held_until).mean(workers, since, until)
    both = Occupancy(
        np.concatenate([s.requests.decode_worker, holder]),
        np.concatenate([began, held_from]),
        np.concatenate([ended, held_until]),
    )
    most = np.array([max(both.peak(int(code), 0.0), SLOTS_AT_LEAST) for code in workers.tolist()])
    at_most = both.mean(workers, since, until) >= ALL_SLOTS * most
    many = orphans >= MOST / 2 * most
    long_wait = until - since > max(1.0, LONG_WAIT_STEPS * s.pools.step_time)
    # where streams are as many as ever beside them, orphans hold cache and no slots
    found: Flags = at_most & many & long_wait & ~live_is_most(s)
    return found


def _overtaken(s: Situation) -> Floats:
    """Per row of the ledger: since when a request that came to its decode worker later was taken in. Until
    then it may only have stood in line. inf where none was.
    """
    r, book = s.requests, s.ledger
    out = np.full(len(book.worker), np.inf)
    for code in np.unique(book.worker[book.orphan & book.on_decode]).tolist():
        own = np.flatnonzero((r.decode_worker == code) & np.isfinite(s.pools.streams[0]))
        came, taken = r.began("decode_queue")[own], s.pools.streams[0][own]
        order = np.argsort(came)
        earliest = np.append(np.minimum.accumulate(taken[order][::-1])[::-1], np.inf)
        rows = book.worker == code
        out[rows] = np.fmax(
            earliest[np.searchsorted(came[order], book.since[rows], "right")], book.since[rows]
        )
    return out


ALL_SLOTS = 0.75
"""Share of the most a worker ever held: it was not full at its fullest if nobody waited then."""
SLOTS_AT_LEAST = 4.0
"""Of a worker that never held more, chance alone makes as many as ever."""


def still(s: Situation, on_decode: bool) -> Flags:
    """Whether nothing but room can be what the request waited for: it waited long beside idle computing."""
    if not on_decode:
        # where decode is full as well, room there may be what prefill waits for
        return prefill_idle(s) & ~decode_is_full(s)
    since, until = (np.nan_to_num(edge) for edge in s.wait("decode_queue"))
    long_wait = until - since > max(1.0, LONG_WAIT_STEPS * s.pools.step_time)
    return (prefill_idle(s) | long_wait) & ~live_is_most(s)


def live_is_most(s: Situation) -> Flags:
    """Whether decode ran about as much as it ever does while the request waited for room: live work
    fills it.
    """
    phases = [s.wait(phase) for phase in ("prefill_queue", "decode_queue")]
    since = np.nan_to_num(np.fmin(phases[0][0], phases[1][0]))
    until = np.nan_to_num(np.fmax(phases[0][1], phases[1][1]))
    running = s.pools.decode_taken.mean(s.decode_worker, since, until)
    most = np.array([s.pools.decode_taken.peak(int(code), 0.0) for code in s.decode_worker.tolist()])
    return running >= LIVE_SHARE * np.maximum(most, 1.0) if len(most) else np.zeros(0, bool)


def _claim(s: Situation, kind: str, on_decode: bool, phase: str) -> Floats:
    """Waits for a cache that orphans fill: the part of what orphans hold there that is of this kind."""
    workers = s.decode_worker if on_decode else s.prefill_worker
    since, until = s.wait(phase)
    share = filled(s, workers, since, until, on_decode)
    if not share.any():
        return share
    of_kind = s.ledger.orphans_held(on_decode, _KINDS[kind](s)).mean(
        workers, np.nan_to_num(since), np.nan_to_num(until)
    )
    # what an earlier rule has claimed is not left to be shared out
    rest = ~_KINDS[_BEFORE[kind]](s) if kind in _BEFORE else None
    everything = s.ledger.orphans_held(on_decode, rest).mean(
        workers, np.nan_to_num(since), np.nan_to_num(until)
    )
    if phase == "prefill_queue" and on_decode:
        share = np.where(prefill_idle(s), share, 0.0)
    part: Floats = share * np.where(everything > 0, of_kind / np.maximum(everything, 1e-9), 0.0)
    return part


_KINDS = {
    "unclaimed": unclaimed,
    "leaked": leaked,
    "leaked_on_decode": leaked_on_decode,
    "reserved": reserved,
}
_BEFORE = {"unclaimed": "leaked", "reserved": "leaked_on_decode"}
"""The kind of the same side that is asked for just before."""


def explain(s: Situation, chosen: Flags, kind: str, on_decode: bool) -> list[Evidence]:
    """How many, how long, and how much of the cache."""
    rows = _KINDS[kind](s)
    workers = s.decode_worker if on_decode else s.prefill_worker
    since, until = s.wait("decode_queue" if on_decode else "prefill_queue")
    side = "decode" if on_decode else "prefill"
    held = (s.ledger.until - s.ledger.since)[rows]
    return [
        *count("orphaned_hand_offs", rows, "hand-offs"),
        *number("held", float(np.median(held)) if len(held) else None, "s", "derived"),
        *number("orphaned_bytes", float(np.nansum(s.ledger.bytes[rows])), "bytes"),
        *median(
            f"{side}.cache_filled_by_orphans",
            filled(s, workers, since, until, on_decode),
            chosen,
            "fraction",
            "derived",
        ),
        *median(
            f"{side}.kv_used_fraction", s.pools.kv_used(workers, np.nan_to_num(until)), chosen, "fraction"
        ),
    ]


UNCLAIMED = Rule(
    Cause.UNCLAIMED,
    ("prefill_queue",),
    partial(_claim, kind="unclaimed", on_decode=False, phase="prefill_queue"),
    partial(explain, kind="unclaimed", on_decode=False),
    "Find why decode never read it (crash, rejection, cancel that stops half way); shorten the lease or "
    "renew it by heartbeat, so that unread KV is given back sooner.",
    needs=("kv_release",),
    excludes="cache that has room; hand-offs that were read under another name or whose spans are late",
)
LEAKED = Rule(
    Cause.LEAKED,
    ("prefill_queue",),
    partial(_claim, kind="leaked", on_decode=False, phase="prefill_queue"),
    partial(explain, kind="leaked", on_decode=False),
    "The producer does not give unread KV back: restart the worker that holds it now, and bound every "
    "hand-off by a lease that is enforced without new traffic.",
    needs=("kv_release",),
    excludes="KV still within its lease",
)
_FREE_IT = (
    "Decode does not give back the room of requests that are over: restart the worker that holds it now, and "
    "free it on abort in every state, that of waiting for KV included."
)
LEAKED_ON_DECODE = Rule(
    Cause.LEAKED,
    ("decode_queue",),
    partial(_claim, kind="leaked_on_decode", on_decode=True, phase="decode_queue"),
    partial(explain, kind="leaked_on_decode", on_decode=True),
    _FREE_IT,
    needs=("decode_queue", "kv_release"),
    excludes="room that is given back, be it late; decode cache that has room",
)
LEAKED_BEFORE_PREFILL = Rule(
    Cause.LEAKED,
    ("prefill_queue",),
    partial(_claim, kind="leaked_on_decode", on_decode=True, phase="prefill_queue"),
    partial(explain, kind="leaked_on_decode", on_decode=True),
    _FREE_IT,
    needs=("decode_queue", "kv_release"),
    excludes="prefill that computes all the while: then it is short itself",
)
RESERVED = Rule(
    Cause.RESERVED_NEVER_FILLED,
    ("decode_queue",),
    partial(_claim, kind="reserved", on_decode=True, phase="decode_queue"),
    partial(explain, kind="reserved", on_decode=True),
    "Tell decode when a prefill is aborted, and shorten its wait for KV: blocks are held for hand-offs "
    "that will not come.",
    needs=("decode_queue",),
    excludes="reservations that are filled; decode cache that has room",
)
RESERVED_BEFORE_PREFILL = Rule(
    Cause.RESERVED_NEVER_FILLED,
    ("prefill_queue",),
    partial(_claim, kind="reserved", on_decode=True, phase="prefill_queue"),
    partial(explain, kind="reserved", on_decode=True),
    "Tell decode when a prefill is aborted, and shorten its wait for KV: blocks are held for hand-offs "
    "that will not come, and prefill waits for room on decode.",
    needs=("decode_queue",),
    excludes="prefill that computes all the while: then it is short itself",
)
