"""Measures of the hand-off path, shared by the rules about transfers."""

from dataclasses import dataclass

import numpy as np

from analyzer.baselines import SUPPLIED_GB_S
from analyzer.occupancy import Occupancy, groups
from analyzer.queue_replay import waits
from analyzer.verdict.situation import Situation, once
from analyzer.verdict.tables import Codes, Flags, Floats, Transport

ENOUGH = 12
"""Transfers needed to tell how time goes with concurrency."""
GROWS = 0.6
"""Slope of log(time per byte) against log(concurrency) from which a path is shared: 1 is perfect sharing."""
LINE_USE = 0.55
"""Share of the line rate in use from which on a path counts as full."""
FULL_AT_LEAST = 0.4
"""Share of what a path can carry that it must reach to be called full."""
AT_ONE_TIME = 30
"""Transfers that follow each other, of which each stretch of time must have as many to be looked at alone."""
SMALL_BLOCK = 256 * 1024
"""Descriptors of fewer bytes are small: posting one costs more than moving it (10 µs at 25 GB/s)."""
POST_SHARE = 0.35
"""Share of a transfer spent posting from which on posting dominates."""
MOST_PER_DESCRIPTOR_S = 200e-6
"""Posting one descriptor never costs more by itself; beyond this the post call moves the bytes."""


SLOW = 1.4
"""From this many times its expected time on a transfer is slow; less is scatter."""
_LEAST = np.array([SUPPLIED_GB_S.get(Transport(number), np.nan) for number in range(len(Transport))])


@dataclass(frozen=True)
class Sharing:
    """How transfers of each group share their path. Arrays have one entry a transfer."""

    concurrency: Floats
    """Mean transfers under way in the group while this one ran, itself included."""
    shared: Flags
    """The group's time per byte grows with concurrency, or its rate is at the line while several run."""
    aggregate_gb_s: Floats
    slope: Floats


def sharing(s: Situation) -> Sharing:
    """Judge the sender's and the receiver's side of every transfer; the side that is shared counts."""
    t = s.transfers
    took = t.seconds
    sides = [_by(s, codes, took) for codes in (t.producer, t.consumer)]
    best = sides[0] if sides[0].shared.sum() >= sides[1].shared.sum() else sides[1]
    everyone = _by(s, np.ones(len(t), np.uint64), took)
    return everyone if everyone.shared.sum() > best.shared.sum() else best


def _by(s: Situation, codes: Codes, took: Floats) -> Sharing:
    t = s.transfers
    under_way = Occupancy(codes, t.asked, t.moved)
    rate = Occupancy(codes, t.asked, t.moved, t.bytes / np.where(took > 0, took, np.nan) / 1e9)
    since, until = np.nan_to_num(t.asked), np.nan_to_num(t.moved)
    concurrency = under_way.mean(codes, since, until)
    aggregate = rate.mean(codes, since, until)
    shared, slope = np.zeros(len(t), bool), np.full(len(t), np.nan)
    beside_its_pair = _beside_its_pair(s, took)
    for code in np.unique(codes[codes != 0]).tolist():
        own = (codes == code) & np.isfinite(took) & (t.bytes > 0)
        if own.sum() < ENOUGH:
            continue
        crowd = np.log(np.maximum(concurrency[own], 1.0))
        found = _slope(crowd, beside_its_pair[own])
        line = t.link_gb_s[own]
        can = np.where(np.isfinite(line), line, _usual_rate(s, _LEAST[t.transport[own]]))
        at_line = aggregate[own] >= LINE_USE * np.where(np.isfinite(line), line, np.inf)
        # a path that carries far less than it can meanwhile is slow, however many share it
        far_below = aggregate[own] < FULL_AT_LEAST * can
        slope[own] = found
        grows = (found >= GROWS) & ~_of_its_time(t.asked[own], crowd, beside_its_pair[own])
        if _lines(s, own) == 1 or not _each_on_its_own(crowd, beside_its_pair[own], slow(s)[own]):
            grows = grows | (at_line & (concurrency[own] >= 2))
        shared[own] = (concurrency[own] >= 1.5) & ~far_below & grows
    return Sharing(concurrency, shared, aggregate, slope)


def _lines(s: Situation, own: Flags) -> int:
    """Lines that these transfers have between them, at least: each machine has its own, at either end."""
    t, workers = s.transfers, s.loaded.workers

    def machines(codes: Codes) -> int:
        found = [workers.get(code) for code in np.unique(codes[own & (codes != 0)]).tolist()]
        return len({one.host or one.name for one in found if one})

    return max(1, min(machines(t.producer), machines(t.consumer)))


def _each_on_its_own(crowd: Floats, per_byte: Floats, times: Floats) -> bool:
    """Whether slow transfers take as long however many are under way: together they carry as much as a line
    does only because each of several lines carries its own.
    """
    late = times >= SLOW
    return bool(late.any()) and _slope(crowd[late], per_byte[late]) < GROWS / 2


def _of_its_time(at: Floats, crowd: Floats, slow: Floats) -> bool:
    """Whether what is slow is so for a while, whoever shares the path then: within stretches of time it does
    not grow with the number. A path that is slow for a while has more under way then, for that alone.
    """
    stretches = min(MOST_STRETCHES, len(at) // AT_ONE_TIME)
    if stretches < 2:
        return False
    crowd, slow = crowd.copy(), slow.copy()
    for members in np.array_split(np.argsort(at), stretches):
        crowd[members] -= np.median(crowd[members])
        slow[members] -= np.median(slow[members])
    return _slope(crowd, slow) < GROWS / 2


MOST_STRETCHES = 12


def _usual_rate(s: Situation, least: Floats) -> Floats:
    """What one healthy transfer reaches, 1e9 bytes/s, where that was learned; else what its kind does at
    least.
    """
    fit = s.moving.fit
    if fit is None or fit.coefficients[1] <= 0:
        return least
    return np.full(len(least), 1e-9 / fit.coefficients[1])


def _beside_its_pair(s: Situation, took: Floats) -> Floats:
    """Logarithm of each transfer's time per byte over its pair's median.

    Without this a slow pair looks shared: long transfers meet others more often.
    """
    t = s.transfers
    per_byte = np.log(took / np.where(t.bytes > 0, t.bytes, np.nan))
    out = per_byte.copy()
    for _, members in groups(t.producer * np.uint64(31) + t.consumer):
        known = per_byte[members][np.isfinite(per_byte[members])]
        if len(known):
            out[members] -= np.median(known)
    return out


def _slope(x: Floats, y: Floats) -> float:
    """Slope between the medians of the outer thirds (Bartlett's method with medians: a third may be bad)."""
    order = np.argsort(x)
    third = max(1, len(x) // 3)
    low, high = order[:third], order[-third:]
    spread = float(np.median(x[high]) - np.median(x[low]))
    if spread < np.log(1.4):
        return float("nan")
    return float(np.median(y[high]) - np.median(y[low])) / spread


@once
def fuller_link(s: Situation) -> Floats:
    """Seconds by which each missed request's transfer would wait longer on a path that is shared, had every
    prompt reached it without its wait for prefill; 0 where no path is shared.

    A queue in front of a shared path spreads what is sent over it; the path is taken as a server that works
    off bytes at the rate it reaches when several transfers share it.
    """
    r, t = s.requests, s.transfers
    path = sharing(s)
    if not path.shared.any():
        return np.zeros(len(s.rows))
    rate = 1e9 * float(np.nanquantile(path.aggregate_gb_s[path.shared], 0.9))
    service = r.input_tokens * float(np.nanmedian(t.bytes / r.input_tokens[t.request])) / rate
    sooner, began = np.nan_to_num(r.duration("prefill_queue")), r.began("kv_transfer")
    usual = float(np.nanmedian(began - r.start - sooner))
    crosses = (s.pools.prompt_worker != r.decode_worker).astype(np.uint64)
    arrivals = np.where(np.isfinite(began), began - sooner, r.start + usual)
    longer = waits(crosses, arrivals, service) - waits(crosses, began, service)
    found: Floats = np.maximum(np.nan_to_num(s.of(longer)), 0.0)
    return found


def posting(s: Situation) -> tuple[Floats, Flags]:
    """Per transfer: share of it spent posting, and whether small blocks are why."""
    t = s.transfers
    share = t.post / t.seconds
    small = (t.bytes / t.descriptors < SMALL_BLOCK) | ~np.isfinite(t.bytes) & (t.descriptors > 1000)
    cheap = t.post / t.descriptors <= MOST_PER_DESCRIPTOR_S
    return share, small & cheap & (share >= POST_SHARE)


def may_be_posting(s: Situation) -> Flags:
    """Per transfer: whether it may as well be the posting of small blocks, and what would tell is not told.

    Either posting takes a large share and the size of the blocks is not known, or blocks are small, cost no
    more than posting can, and how long posting took is not known. Where neither is told nothing speaks
    for it.
    """
    t = s.transfers
    unknown_size = (t.post / t.seconds >= POST_SHARE) & ~np.isfinite(t.descriptors)
    small = t.bytes / t.descriptors < SMALL_BLOCK
    cheap = t.seconds / t.descriptors <= MOST_PER_DESCRIPTOR_S
    found: Flags = unknown_size | (small & cheap & ~np.isfinite(t.post))
    return found


def descriptor_bound(s: Situation) -> Flags:
    """Per transfer: time follows descriptors, not bytes, at a cost a descriptor can have, of small blocks."""
    t = s.transfers
    took = t.seconds
    known = np.isfinite(took) & np.isfinite(t.descriptors) & (t.descriptors > 0)
    out = np.zeros(len(t), bool)
    if known.sum() < ENOUGH:
        return out
    slope = _slope(np.log(t.descriptors[known]), np.log(took[known]))
    of_bytes = np.where(np.isfinite(t.bytes) & (t.bytes > 0), t.bytes, np.nan)
    by_bytes = (
        _slope(np.log(of_bytes[known]), np.log(took[known])) if np.isfinite(of_bytes[known]).all() else np.nan
    )
    if not slope >= GROWS or (by_bytes >= GROWS and abs(by_bytes - slope) < 0.3):
        return out
    few = float(np.quantile(t.descriptors[known], 0.25))
    cost = took / t.descriptors
    small = ~np.isfinite(t.bytes) | (t.bytes / t.descriptors < SMALL_BLOCK)
    return known & (t.descriptors > 2 * few) & (cost <= 10 * MOST_PER_DESCRIPTOR_S) & small


@once
def idle_wait(s: Situation) -> Floats:
    """Per transfer: seconds it waited for its first byte to be posted while next to nothing moved at either
    of its ends. 0 where how long it waited is not told.
    """
    t = s.transfers
    posted = np.where(t.waited > 0, t.asked + t.waited, t.asked)
    since, until = np.nan_to_num(t.asked), np.nan_to_num(posted)
    busy = np.zeros(len(t))
    for codes in (t.producer, t.consumer):
        busy = np.fmax(busy, Occupancy(codes, posted, t.moved).mean(codes, since, until))
    took = np.nan_to_num(t.seconds)
    return np.where(busy < MOVING, np.clip(np.nan_to_num(t.waited), 0.0, took), 0.0)


MOVING = 0.5
"""Mean transfers under way from which on an end is busy moving, and what waits there waits for the path."""


def slow(s: Situation) -> Floats:
    """Per transfer: time ÷ expected time, less what it waited beside an idle path."""
    found: Floats = (s.transfers.seconds - idle_wait(s)) / s.moving.expected
    return found
