"""Facts about the pools at the time of each wait, shared by the rules about pools."""

import numpy as np

from analyzer.occupancy import Occupancy
from analyzer.pools import FULL_KV
from analyzer.verdict.causes.beside_siblings import beside_siblings
from analyzer.verdict.relay import ttft_without
from analyzer.verdict.situation import AROUND_S, ORDINARY_WAITS, Situation, once
from analyzer.verdict.tables import PART, Flags, Floats

WITHIN = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Where in a wait the pools are looked at."""
OFTEN_FULL = 0.1
"""Decode that is full so often while prefill lets through only part of the load has no room for the rest."""
HALF_AS_MUCH = 0.5
FULL_IF_KEPT_UP = 0.8
"""Of its slots or cache; a pool asked for more makes requests wait as a rule (M/M/c)."""
FULL_IF_LET = 0.9
"""Share of its workers' time from which on the offered prompts would wait several service times (M/D/1)."""
BUSY_NOW = 0.75
"""Less of it in use means that prefill could do a third more before decode is short as well."""
BUSY_LEAST = 0.6
"""A worker with a queue computes all the time, unless something other than computing holds it."""
A_WHILE_S = 10.0
"""How long a worker is looked at, at least, to tell whether it computes."""
IDLE_SIBLING = 0.25
"""A sibling with less than this share of the worker's own queue is idle beside it."""


def siblings_idle(s: Situation, pool: str) -> Flags:
    """Whether most siblings that were there had next to no queue while the request waited for its worker."""
    waiting = s.pools.prefill_waiting if pool == "prefill" else s.pools.decode_waiting
    own_worker = s.prefill_worker if pool == "prefill" else s.decode_worker
    if len(s.pools.siblings(pool)) < 2:
        return np.zeros(len(s.rows), bool)
    since, until = (np.nan_to_num(edge) for edge in s.wait(f"{pool}_queue"))
    own, usual = beside_siblings(s, pool, own_worker, waiting, since, until)
    found: Flags = (own >= 1.0) & (usual <= IDLE_SIBLING * own) & (usual < 1.0)
    return found | (pool == "prefill") & (own >= 1.0) & _siblings_compute_less(s)


def _siblings_compute_less(s: Situation) -> Flags:
    """Whether the request's prefill worker computed all the while and most siblings less than half of it.

    What queues at those is held by something else: prompts in the hot worker's queue may hold room on decode.
    """
    found = np.ones(len(s.rows), bool)
    for since, until in _while_queued(s):
        own, usual = beside_siblings(s, "prefill", s.prefill_worker, s.pools.prefill_running, since, until)
        found &= (own >= BUSY_LEAST) & (usual < HALF_AS_MUCH * own)
    return found


@once
def prefill_idle(s: Situation) -> Flags:
    """Whether the prefill worker computed next to nothing while the request waited: it was held by something
    else, such as room on decode.
    """
    found = np.ones(len(s.rows), bool)
    for since, until in _while_queued(s):
        found &= s.pools.prefill_running.mean(s.prefill_worker, since, until) < BUSY_LEAST
    return found


def _while_queued(s: Situation) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """From when to when each missed request waited for prefill, and a while around that where it was short:
    what a worker computes in a second or two is chance.
    """
    since, until = (np.nan_to_num(edge) for edge in s.wait("prefill_queue"))
    short = np.maximum(A_WHILE_S - (until - since), 0.0) / 2
    return (since, until), (since - short, until + short)


@once
def held_for_decode(s: Situation) -> Flags:
    """Whether decode held prefill back: prefill idled beside its queue (room on decode comes first), or
    its cache was full of finished prompts that decode had not taken; and decode was full.
    """
    since, until = (np.nan_to_num(edge) for edge in s.wait("prefill_queue"))
    used = s.pools.kv_used(s.prefill_worker, until)
    computing = s.pools.prefill_running.mean(s.prefill_worker, since, until)
    waiting_for_decode = s.pools.decode_waiting.total((since + until) / 2)
    workers = max(1, len(s.pools.prefill_workers))
    full_of_finished = (used >= FULL_KV) & (waiting_for_decode / workers > computing)
    return (full_of_finished | prefill_idle(s)) & decode_is_full(s)


@once
def decode_is_full(s: Situation) -> Flags:
    """Whether decode lacked room while the request waited for prefill: most of its workers were full."""
    until = np.nan_to_num(s.wait("prefill_queue")[1])
    workers = s.pools.decode_workers
    if not len(workers):
        return np.zeros(len(s.rows), bool)
    since = np.nan_to_num(s.wait("prefill_queue")[0])
    often = np.zeros(len(s.rows))
    for part in WITHIN:
        at = since + part * (until - since)
        for code in workers.tolist():
            often += s.pools.decode_kv_full(np.full(len(at), code, np.uint64), at)
    own_full, _ = s.decode_full
    own_since, own_until = s.wait("decode_queue")
    # room set aside for prompts that wait for prefill makes a gauge read full: a short wait lacks no room
    own_full = own_full & (own_until - own_since > NOTABLE * s.of(s.requests.ttft_limit))
    return (often >= OFTEN_FULL * len(WITHIN) * len(workers)) | own_full


def decode_would_be_full(s: Situation) -> Flags:
    """Whether decode, busy as it was, would have lacked room around the request had no prompt waited."""
    slots, cache = _decode_asked(s, *s.pools.streams)
    more_slots, more_cache = _decode_asked(s, *s.pools.streams_if_prefill_kept_up)
    # the gauge knows what the cache holds; room set aside for prompts that wait is not yet at work
    used = np.fmin(cache, _kv_used_around(s))
    now = np.fmax(slots, used)
    kept_up = np.fmax(more_slots, used * more_cache / np.where(cache > 0, cache, np.inf))
    full: Flags = (now >= BUSY_NOW) & (kept_up >= FULL_IF_KEPT_UP)
    return full


def _decode_asked(s: Situation, began: Floats, ended: Floats) -> tuple[Floats, Floats]:
    """Of the slots and of the cache of all decode workers, how much streams at these times ask for."""
    r = s.requests
    everyone = np.where(r.decode_worker != 0, np.uint64(1), np.uint64(0))
    tokens = r.input_tokens + np.nan_to_num(r.output_tokens) / 2
    capacity = float(s.pools.kv_capacity(s.pools.decode_workers).sum())
    of_slots = _offered(s, Occupancy(everyone, began, ended)) / s.pools.decode_slots
    of_cache = _offered(s, Occupancy(everyone, began, ended, tokens)) / capacity
    return of_slots, of_cache


def _kv_used_around(s: Situation) -> Floats:
    """Mean of what decode's cache gauges read around the arrival of each missed request; nan without any."""
    since, until = _around(s)
    read = [
        s.pools.kv_used(np.full(len(since), code, np.uint64), since + part * (until - since))
        for code in s.pools.decode_workers.tolist()
        for part in WITHIN
    ]
    known = np.isfinite(read).sum(axis=0)
    return np.where(known > 0, np.nansum(read, axis=0) / np.maximum(known, 1), np.nan)


def prefill_would_be_full(s: Situation) -> Flags:
    """Whether prefill would have been asked for about all it can compute had decode never held it back."""
    r = s.requests
    waited = np.nan_to_num(r.duration("prefill_queue"))
    everyone = np.where(s.pools.prompt_worker != 0, np.uint64(1), np.uint64(0))
    offered = Occupancy(everyone, r.began("prefill_compute") - waited, r.ended("prefill_compute") - waited)
    workers = s.pools.prefill_workers.tolist()
    at_once = sum(s.pools.prefill_running.while_busy(int(code)) for code in workers)
    found: Flags = _offered(s, offered) >= FULL_IF_LET * max(at_once, 1.0)
    return found


@once
def prefill_used(s: Situation) -> Floats:
    """Share of its workers' time that prefill computed around the arrival of each missed request; nan where
    requests do not tell it, all in all or of one of its workers: what is not known is no idleness.
    """
    r = s.requests
    told = np.isfinite(r.began("prefill_compute"))
    workers = [r.prefill_worker == code for code in np.unique(r.prefill_worker[r.prefill_worker != 0])]
    for own in (np.ones(len(r), bool), *workers):
        served = own & r.answered
        if not served.any() or told[served].mean() < MOSTLY_TOLD:
            return np.full(len(s.rows), np.nan)
    everyone = np.where(s.pools.prompt_worker != 0, np.uint64(1), np.uint64(0))
    computing = Occupancy(everyone, r.began("prefill_compute"), r.ended("prefill_compute"))
    at_once = sum(s.pools.prefill_running.while_busy(int(code)) for code in s.pools.prefill_workers.tolist())
    return _offered(s, computing) / max(at_once, 1.0)


@once
def decode_used(s: Situation) -> Floats:
    """Share of decode's slots or of its cache in use around the arrival of each missed request; nan where
    neither is known.
    """
    slots, cache = _decode_asked(s, *s.pools.streams)
    return np.fmax(slots, np.fmax(cache, _kv_used_around(s)))


def _offered(s: Situation, work: Occupancy) -> Floats:
    """Mean work of a whole pool (worker 1 of `work`) around the arrival of each missed request."""
    since, until = _around(s)
    return work.mean(np.ones(len(since), np.uint64), since, until)


def _around(s: Situation) -> tuple[Floats, Floats]:
    """A while around the arrival of each missed request: a burst that is worked off is no lack of capacity.

    Time without traffic at either end of the window is left out.
    """
    at = s.of(s.requests.start)
    inside = s.requests.start[s.requests.inside]
    since = np.maximum(at - AROUND_S, inside.min(initial=np.inf))
    return since, np.maximum(np.minimum(at + AROUND_S, inside.max(initial=-np.inf)), since)


def enough_alone(s: Situation, part: str) -> Flags:
    """Whether the request would have met its TTFT objective without the excess of this part alone."""
    removed = np.zeros_like(s.excess)
    removed[:, PART[part]] = s.excess[:, PART[part]]
    found: Flags = ttft_without(s, removed) <= s.of(s.requests.ttft_limit)
    return found


@once
def behind_long_prompts(s: Situation) -> Flags:
    """Whether a request that the objective has ample time for waited behind prompts much longer than most.

    Where prompts differ much such waits are ordinary at any load, and all the same its own prompt is not why
    it missed.
    """
    took = s.requests.duration("prefill_compute")
    known = took[np.isfinite(took) & (took > 0)]
    usual = float(np.median(known)) if len(known) else np.inf
    since, until = s.wait("prefill_queue")
    long_wait = np.nan_to_num(until - since) > ORDINARY_WAITS * np.fmax(s.of(took), usual)
    ample = (s.exposed - s.excess).sum(axis=1) <= AMPLE * s.of(s.requests.ttft_limit)
    found: Flags = long_wait & ample & ~s.failed & enough_alone(s, "prefill_queue")
    return found


MOSTLY_TOLD = 0.5
"""Of fewer requests that tell a phase, nothing follows for a whole pool."""
AMPLE = 0.5
"""An objective of twice what a request takes by itself leaves room for ordinary queueing."""
UNTOLD = 0.25
"""Time that no span covers, of what was waited for prefill, that may hide waits for decode."""
NOTABLE = 0.1
"""Waits shorter than this share of the objective are not looked at."""


def decode_wait_untold(s: Situation) -> bool:
    """Whether waits for decode are not traced, and where prefill was waited for as much time is covered by no
    span as would matter: it may be those.
    """
    r = s.requests
    decoded = np.isfinite(r.began("first_decode_step")) | np.isfinite(r.began("decode"))
    if not decoded.any() or np.isfinite(r.began("decode_queue")).any():
        return False
    waited = np.nan_to_num(s.exposed[:, PART["prefill_queue"]])
    bare = np.nan_to_num(s.exposed[:, PART["unattributed"]])
    behind = waited > NOTABLE * s.of(r.ttft_limit)
    return bool(bare[behind].sum() > UNTOLD * waited[behind].sum())


@once
def held_by_hand_offs(s: Situation) -> dict[str, Flags]:
    """Waits for what KV under way holds: room on decode, at least as much of it as streams hold; prefill's
    cache, while it computes next to nothing.
    """
    r = s.requests
    out: dict[str, Flags] = {}
    for phase, holds, workers in (
        ("decode_queue", r.decode_worker, s.decode_worker),
        ("prefill_queue", s.pools.prompt_worker, s.prefill_worker),
    ):
        since, until = (np.nan_to_num(edge) for edge in s.wait(phase))
        on_its_way = Occupancy(holds, r.began("kv_transfer"), r.ended("kv_transfer"))
        under_way = on_its_way.mean(workers, since, until)
        running = s.pools.decode_running.mean(workers, since, until)
        enough = under_way >= running if phase == "decode_queue" else prefill_idle(s)
        out[phase] = (under_way >= 1.0) & enough
    return out


def siblings_with_room(s: Situation) -> Flags:
    """Whether the request's decode worker was full while most of its siblings ran less than half as much."""
    if len(s.pools.siblings("decode")) < 2:
        return np.zeros(len(s.rows), bool)
    since, until = (np.nan_to_num(edge) for edge in s.wait("prefill_queue"))
    own, usual = beside_siblings(s, "decode", s.decode_worker, s.pools.decode_running, since, until)
    found: Flags = (own >= 1.0) & (usual < HALF_AS_MUCH * own)
    return found
