"""Facts about the pools at the time of each wait, shared by the rules about pools."""

import numpy as np

from analyzer.occupancy import Occupancy
from analyzer.pools import FULL_KV
from analyzer.verdict.relay import ttft_without
from analyzer.verdict.situation import AROUND_S, Situation
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
BUSY_LEAST = 0.6
"""A worker with a queue computes all the time, unless something other than computing holds it."""
IDLE_SIBLING = 0.25
"""A sibling with less than this share of the worker's own queue is idle beside it."""


def siblings_idle(s: Situation, pool: str) -> Flags:
    """Whether most siblings that were there had next to no queue while the request waited for its worker."""
    occupancy = s.pools.prefill_waiting if pool == "prefill" else s.pools.decode_waiting
    workers = s.pools.prefill_workers if pool == "prefill" else s.pools.decode_workers
    own_worker = s.prefill_worker if pool == "prefill" else s.decode_worker
    if len(workers) < 2:
        return np.zeros(len(s.rows), bool)
    since, until = (np.nan_to_num(edge) for edge in s.wait(f"{pool}_queue"))
    middle = (since + until) / 2
    levels = np.full((len(workers), len(s.rows)), np.nan)
    for number, code in enumerate(workers.tolist()):
        there = s.pools.available(int(code), middle) & (own_worker != code)
        levels[number, there] = _of(occupancy.mean, int(code), since[there], until[there])
    own = occupancy.mean(own_worker, since, until)
    alone = ~np.isfinite(levels).any(axis=0)
    levels[:, alone] = np.inf
    usual = np.nanmedian(levels, axis=0)
    found: Flags = (own >= 1.0) & (usual <= IDLE_SIBLING * own) & (usual < 1.0)
    return found


def prefill_idle(s: Situation) -> Flags:
    """Whether the prefill worker computed next to nothing while the request waited: it was held by something
    else, such as room on decode.
    """
    since, until = (np.nan_to_num(edge) for edge in s.wait("prefill_queue"))
    return s.pools.prefill_running.mean(s.prefill_worker, since, until) < BUSY_LEAST


def _of(mean, code: int, since: Floats, until: Floats) -> Floats:  # type: ignore[no-untyped-def]
    found: Floats = mean(np.full(len(since), code, np.uint64), since, until)
    return found


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
    return (often >= OFTEN_FULL * len(WITHIN) * len(workers)) | own_full


def decode_would_be_full(s: Situation) -> Flags:
    """Whether decode would have lacked room had the request, and the others, not waited for prefill."""
    r, (began, ended) = s.requests, s.pools.streams_if_prefill_kept_up
    everyone = np.where(r.decode_worker != 0, np.uint64(1), np.uint64(0))
    streams = Occupancy(everyone, began, ended)
    tokens = Occupancy(everyone, began, ended, r.input_tokens + np.nan_to_num(r.output_tokens) / 2)
    since, until = np.nan_to_num(s.of(began)), np.nan_to_num(s.of(ended))
    pool = np.ones(len(s.rows), np.uint64)
    capacity = float(s.pools.kv_capacity(s.pools.decode_workers).sum())
    of_slots = streams.mean(pool, since, until) / s.pools.decode_slots
    of_cache = tokens.mean(pool, since, until) / capacity
    full: Flags = (np.fmax(of_slots, of_cache) >= FULL_IF_KEPT_UP) & np.isfinite(s.of(began))
    return full


def prefill_would_be_full(s: Situation) -> Flags:
    """Whether prefill would have been asked for about all it can compute had decode never held it back."""
    r = s.requests
    waited = np.nan_to_num(r.duration("prefill_queue"))
    pool = np.where(s.pools.prompt_worker != 0, np.uint64(1), np.uint64(0))
    offered = Occupancy(pool, r.began("prefill_compute") - waited, r.ended("prefill_compute") - waited)
    workers = s.pools.prefill_workers.tolist()
    at_once = sum(s.pools.prefill_running.while_busy(int(code)) for code in workers)
    at = np.nan_to_num(s.wait("prefill_queue")[0])
    inside = r.start[r.inside]
    since = np.maximum(at - AROUND_S, inside.min(initial=0.0))
    until = np.minimum(at + AROUND_S, np.maximum(inside.max(initial=0.0), since))
    asked = offered.mean(np.ones(len(s.rows), np.uint64), since, until)
    found: Flags = asked >= FULL_IF_LET * max(at_once, 1.0)
    return found


def enough_alone(s: Situation, part: str) -> Flags:
    """Whether the request would have met its TTFT objective without the excess of this part alone."""
    removed = np.zeros_like(s.excess)
    removed[:, PART[part]] = s.excess[:, PART[part]]
    found: Flags = ttft_without(s, removed) <= s.of(s.requests.ttft_limit)
    return found


def siblings_with_room(s: Situation) -> Flags:
    """Whether the request's decode worker was full while most of its siblings ran less than half as much."""
    workers, own_worker = s.pools.decode_workers, s.decode_worker
    if len(workers) < 2:
        return np.zeros(len(s.rows), bool)
    since, until = (np.nan_to_num(edge) for edge in s.wait("prefill_queue"))
    middle = (since + until) / 2
    levels = np.full((len(workers), len(s.rows)), np.nan)
    for number, code in enumerate(workers.tolist()):
        there = s.pools.available(int(code), middle) & (own_worker != code)
        levels[number, there] = _of(s.pools.decode_running.mean, int(code), since[there], until[there])
    levels[:, ~np.isfinite(levels).any(axis=0)] = np.inf
    own = s.pools.decode_running.mean(own_worker, since, until)
    found: Flags = (own >= 1.0) & (np.nanmedian(levels, axis=0) < HALF_AS_MUCH * own)
    return found
