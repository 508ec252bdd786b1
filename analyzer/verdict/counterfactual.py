"""What would have been without a cause: each missed request's timeline laid again, less what it claimed, and
what follows from it: prompts that come sooner queue for prefill and share decode's steps and full paths, and
what hand-offs under way held is free.
"""

from collections.abc import Mapping

import numpy as np

from analyzer.occupancy import Occupancy
from analyzer.verdict.causes.link import fuller_link
from analyzer.verdict.causes.pool_state import decode_is_full, held_by_hand_offs, prefill_idle
from analyzer.verdict.causes.prompt_queue import waits_with
from analyzer.verdict.relay import room_beside_prompts, ttft_without
from analyzer.verdict.situation import Situation, once
from analyzer.verdict.tables import PART, Flags, Floats
from analyzer.verdict.vocabulary import CAUSES, Cause
from collector.phases import TTFT_PARTS

STUCK = 0.8
"""A request without a token that spent this share of its age for one cause would have gone on without it."""
HOLD_BOTH_POOLS = (Cause.UNCLAIMED, Cause.LEAKED, Cause.RESERVED_NEVER_FILLED, Cause.OVERLOAD)
"""Causes whose absence frees room on decode as well as on prefill."""
HOLD_PROMPTS_BACK = (
    Cause.PREFILL_STARVED,
    Cause.INTRA_POOL_SKEW,
    Cause.CANCELLED,
    Cause.RETRY_AMPLIFICATION,
)
"""Causes whose absence lets prompts reach decode sooner; where decode sets room aside before prefill, it is
these prompts that hold it."""
SLOW_HAND_OFFS = (
    Cause.SLOW_LINK,
    Cause.LINK_CONTENTION,
    Cause.MANY_SMALL_BLOCKS,
    Cause.TCP_FALLBACK,
    Cause.REDUNDANT_PREFIX,
)
"""Causes whose absence frees what is held on either side for KV under way."""
BEFORE_PREFILL = ("router_queue", "tokenize")
AFTER_PREFILL = ("kv_publish", "kv_transfer", "decode_queue", "kv_import", "first_decode_step")


def would_have_met(s: Situation, by_part: Mapping[str, Floats], per_token: Floats, shares: Floats) -> Flags:
    """(missed, causes). by_part: seconds of TTFT that causes claimed of each part; per_token: of TPOT."""
    met = np.zeros(shares.shape, bool)
    for column in np.flatnonzero(shares.any(axis=0)).tolist():
        own = shares[:, column] > 0
        removed = _removed(s, by_part, column)
        in_time = _in_time(s, by_part, removed, column, own)
        met[:, column] = own & in_time & ~_slow(s, removed, per_token, column)
    return met


def _removed(s: Situation, by_part: Mapping[str, Floats], column: int) -> Floats:
    empty = np.zeros(len(s.rows))
    removed = np.stack([by_part[p][:, column] if p in by_part else empty for p in TTFT_PARTS], axis=1)
    if CAUSES[column] in SLOW_HAND_OFFS:
        for phase, held in held_by_hand_offs(s).items():
            removed[:, PART[phase]] = np.where(held, s.excess[:, PART[phase]], removed[:, PART[phase]])
    return removed


def _in_time(s: Situation, by_part: Mapping[str, Floats], removed: Floats, column: int, own: Flags) -> Flags:
    """Answered, and within the TTFT objective."""
    cause = CAUSES[column]
    limit, censored = s.of(s.requests.ttft_limit), s.of(s.requests.censored)
    failing = by_part.get("failure")
    fixed = np.zeros(len(limit), bool) if failing is None else failing[:, column] > 0
    stuck = censored & (removed.sum(axis=1) >= STUCK * np.nan_to_num(s.of(s.requests.ttft)))
    without = ttft_without(s, removed, _room_as_well(s, cause), room_beside_prompts(s))
    if stuck.any():
        without = without + np.where(stuck, _still_ahead(s, removed), 0.0)
    if removed[:, [PART[part] for part in BEFORE_PREFILL]].any():
        without = without + _longer_queue(s, removed)
    sooner = removed[:, PART["prefill_queue"]] > 0
    if sooner.any():
        without = without + np.where(sooner, fuller_link(s), 0.0)
    if cause is Cause.PREFILL_BOUND:
        without = without - np.where(own, s.over_ttft, 0.0)
    late = np.where(fixed & censored, 0.0, without) > limit
    answered: Flags = ~s.failed | fixed | stuck
    return answered & ~late


def _room_as_well(s: Situation, cause: Cause) -> Flags:
    """Whether what is taken out of the prompt's lane held decode's room, too."""
    size = len(s.rows)
    if cause in HOLD_PROMPTS_BACK:
        return ~decode_is_full(s) | prefill_idle(s)
    if cause is Cause.DECODE_STARVED:
        return prefill_idle(s)
    return np.full(size, cause in HOLD_BOTH_POOLS)


def _still_ahead(s: Situation, removed: Floats) -> Floats:
    """Seconds a request that never left the queue had ahead of it: its prompt, and what came after prompts of
    others, but for parts of which this cause is the reason.
    """
    r = s.requests
    after = [PART[part] for part in AFTER_PREFILL if not removed[:, PART[part]].any()]
    seen = r.exposed[r.inside & r.answered & np.isfinite(r.began("prefill_compute"))][:, after]
    usual = float(np.median(np.nan_to_num(seen).sum(axis=1))) if len(seen) else 0.0
    found: Floats = np.nan_to_num(s.of(s.compute.expected)) + usual
    return found


def _longer_queue(s: Situation, removed: Floats) -> Floats:
    """Seconds by which the wait for prefill grows when prompts reach it without `removed` before it.

    What holds prompts back in front of prefill also spreads them: a backlog there moves to prefill's queue.
    """
    r = s.requests
    earlier = np.zeros(len(r))
    for part in BEFORE_PREFILL:
        if removed[:, PART[part]].any():
            earlier += np.nan_to_num(r.exposed[:, PART[part]])
            earlier[s.rows] += removed[:, PART[part]] - s.exposed[:, PART[part]]
    now, then = waits_with(s, earlier)
    found: Floats = np.maximum(s.of(then - now), 0.0)
    return found


def _slow(s: Situation, removed: Floats, per_token: Floats, column: int) -> Flags:
    """Beyond the TPOT objective: also where prompts that come sooner make the batch larger."""
    limit = s.of(s.requests.tpot_limit) * (1 + 1e-9)
    tpot = np.nan_to_num(s.of(s.requests.tpot)) - per_token[:, column]
    slow: Flags = tpot > limit
    if CAUSES[column] in HOLD_PROMPTS_BACK:
        sooner = removed[:, PART["prefill_queue"]] > 0
        slow |= sooner & (tpot * _growth(s) > limit)
    return slow


@once
def _growth(s: Situation) -> Floats:
    """How many times longer a step would be with the batch that decode would run had prefill kept up."""
    fit = s.step.fit
    began, ended = s.pools.streams_if_prefill_kept_up
    if fit is None:
        return np.ones(len(s.rows))
    streams = Occupancy(s.requests.decode_worker, began, ended)
    batch = streams.mean(s.decode_worker, np.nan_to_num(s.of(began)), np.nan_to_num(s.of(ended)))
    context = s.of(s.requests.input_tokens) + np.nan_to_num(s.of(s.requests.output_tokens)) / 2

    def step(size: Floats) -> Floats:
        return fit.predict(np.column_stack([np.ones(len(size)), size, size * context]))

    grown = step(batch) / step(s.of(s.batch))
    return np.where(np.isfinite(grown), np.maximum(grown, 1.0), 1.0)
