"""Findings about workers, pools and paths."""

import numpy as np

from analyzer.occupancy import groups
from analyzer.verdict.attribution import COLUMN, Attribution
from analyzer.verdict.causes import failed_hand_off, stood_still
from analyzer.verdict.causes.agreement import at_odds_with_decode, differences
from analyzer.verdict.evidence import number
from analyzer.verdict.findings.finding import Finding
from analyzer.verdict.findings.one_worker import worker_alone
from analyzer.verdict.situation import Situation
from analyzer.verdict.standstill import standstills
from analyzer.verdict.tables import Floats, Freed, Outcome
from analyzer.verdict.vocabulary import Cause

_ODD = np.uint64(0x9E3779B97F4A7C15)
IDLE = 0.5
"""A pool used less than this on average is mostly idle."""
SLOW_PAIR = 1.4
"""A pair is slow when its transfers take so many times what the other pairs' take for their size."""
ENOUGH_PER_PAIR = 5
SURE = 4.0
"""Standard errors by which a pair must stand out."""


def decode_crash(s: Situation, _: Attribution) -> Finding | None:
    """A decode worker that went down: its health says so, it started anew, or producers lost it."""
    names = []
    for code in s.pools.decode_workers.tolist():
        worker = s.loaded.workers.get(int(code))
        down = any(
            (series := s.loaded.readings.series(signal, int(code))) is not None
            and series.value.min() <= 0.0 < series.value.max()
            and _died(s, int(code), series.at[series.value <= 0.0])
            for signal in ("up", "pod_ready")
        )
        restarted = (
            worker is not None
            and len([start for start in worker.starts if start > s.requests.start.min()]) > 0
        )
        served_before = bool((s.requests.start[s.requests.decode_worker == code] < _first(worker)).any())
        if down or (restarted and served_before):
            names.append(s.name(int(code)))
    t = s.transfers
    lost = int(((t.freed_why == Freed.WORKER_LOST) & s.requests.inside[t.request]).sum())
    if not names and not lost:
        return None
    cut = int((s.of(s.requests.outcome) == Outcome.INTERRUPTED).sum())
    detail = f"decode worker {', '.join(names[:3]) or 'unnamed'} went away; {cut} requests broke off"
    return Finding(
        "decode_crash", "critical", detail, cut, number("worker_lost_releases", lost or None, "hand-offs")
    )


def _died(s: Situation, worker: int, unanswered: Floats) -> bool:
    """Whether a worker was gone when it did not answer: a busy one still ends what it had begun before."""
    r = s.requests
    kept = r.inside & (r.decode_worker == worker) & (r.outcome == Outcome.OK) & (r.attempts == 1)
    since, until = r.start[kept], r.end[kept]
    began = r.start[r.inside].min() if r.inside.any() else np.inf
    return any(not ((since < at) & (at < until)).any() for at in unanswered[unanswered >= began])


def _first(worker) -> float:  # type: ignore[no-untyped-def]
    return max(worker.starts) if worker is not None and worker.starts else -np.inf


def no_progress_while_healthy(s: Situation, found: Attribution) -> Finding | None:
    """Requests waited to the end of their time without being scheduled, while no worker was down; or a worker
    did nothing for a while, with requests there that then missed for it.
    """
    r = s.requests
    timed_out = r.inside & (r.outcome == Outcome.TIMEOUT)
    unscheduled = timed_out & ~np.isfinite(r.began("prefill_compute")) & np.isfinite(r.began("prefill_queue"))
    stuck = timed_out & (np.nan_to_num(r.preempted) > 0.5 * np.nan_to_num(r.lasted))
    chosen = unscheduled | stuck
    if not chosen.any():
        return _stood_still(s, found)
    longest = float(np.nanmax(r.lasted[chosen]))
    detail = f"{int(chosen.sum())} requests made no progress for up to {longest:.0f} s on workers that are up"
    return Finding("no_progress_while_healthy", "critical", detail, int(chosen.sum()))


def _stood_still(s: Situation, found: Attribution) -> Finding | None:
    unexplained = s.rows[found.shares[:, COLUMN[Cause.INSUFFICIENT_EVIDENCE]] > 0]
    still = [one for one in standstills(s) if np.isin(one.held, unexplained).any()]
    if not still or not any(
        amount > 0 and rule.next_step == stood_still.NEXT for rule, amount in found.asked
    ):
        return None
    worst = max(still, key=lambda one: one.until - one.since)
    own = [one for one in still if one.worker == worst.worker]
    held = np.unique(np.concatenate([one.held for one in own]))
    took = sum(one.until - one.since for one in own)
    detail = f"{s.name(worst.worker)} did nothing for {took:.1f} s while {len(held)} requests were there"
    evidence = number("worker.stood_still", took, "s", "derived")
    return Finding("no_progress_while_healthy", "critical", detail, len(held), evidence)


def idle_pool(s: Situation, found: Attribution) -> Finding | None:
    """One pool is mostly idle while requests miss for the other."""
    if not len(s.rows):
        return None
    share = found.shares.mean(axis=0)
    for pool, other, workers in (
        ("prefill", Cause.DECODE_STARVED, s.pools.prefill_workers),
        ("decode", Cause.PREFILL_STARVED, s.pools.decode_workers),
    ):
        if share[COLUMN[other]] < 0.3:
            continue
        codes = workers.tolist()
        for signal in ("gpu_busy_fraction", "kv_used_fraction"):
            used = _mean_of_any_part(s, signal, codes)
            if used is not None and used < IDLE:
                detail = f"the {pool} pool is {used:.0%} used ({signal}) while requests miss for the other"
                missed = int((found.shares[:, COLUMN[other]] > 0).sum())
                evidence = number(f"{pool}.{signal}", used, "fraction")
                return Finding("idle_pool", "warning", detail, missed, evidence)
    return None


def _mean_of_any_part(s: Situation, signal: str, codes: list[int]) -> float | None:
    return s.loaded.readings.pool_mean(signal, codes)


def path_specific(s: Situation, found: Attribution) -> Finding | None:
    """Only some pairs are slow (or fail): the others' transfers of the same size are well; or, where causes
    do not say it, requests miss on one worker while its siblings meet with prompts as long."""
    if detail := _slow_transfers(s):
        return Finding("path_specific", "warning", detail)
    if alone := worker_alone(s, found):
        return Finding("path_specific", "warning", alone.detail, alone.missed)
    return None


def _slow_transfers(s: Situation) -> str:
    t = s.transfers
    ratio = t.seconds / s.moving.expected
    known = np.isfinite(ratio) & s.requests.inside[t.request] & (t.producer != 0) & (t.consumer != 0)
    stale = failed_hand_off.stale_producers(s)
    if stale:
        return f"hand-offs fail only from {', '.join(sorted(s.name(code) for code in stale)[:4])}"
    if condemned := failed_hand_off.condemned_pairs(s):
        told = [f"{s.name(producer)} to {s.name(consumer)}" for producer, consumer in condemned]
        return f"hand-offs fail only from {', '.join(sorted(told)[:4])}"
    if not known.any():
        return ""
    slow = _slow_pairs(np.log(ratio[known]), t.producer[known] * np.uint64(31) + t.consumer[known])
    if slow is None:
        return ""
    number_slow, pairs, factor = slow
    return f"{number_slow} of {pairs} pairs take {factor:.1f} times as long as the others"


def _slow_pairs(log_ratio: np.ndarray, pair: np.ndarray) -> tuple[int, int, float] | None:
    """Pairs whose median is far above the quicker ones' by more than its own sampling error explains.

    The standard error of a median is 1.25 σ/√n; σ is the pooled scatter within pairs.
    """
    members = [log_ratio[rows] for _, rows in groups(pair) if len(rows) >= ENOUGH_PER_PAIR]
    if len(members) < 4:
        return None
    middle = np.array([np.median(values) for values in members])
    within = np.concatenate([np.abs(v - m) for v, m in zip(members, middle, strict=True)])
    scatter = max(1.4826 * float(np.median(within)), 1e-3)
    error = 1.25 * scatter / np.sqrt([len(values) for values in members])
    usual = float(np.quantile(middle, 0.25))
    slow = (middle - usual > np.log(SLOW_PAIR)) & (middle - usual > SURE * error)
    if not slow.any() or slow.all():
        return None
    return int(slow.sum()), len(members), float(np.exp(np.median(middle[slow]) - np.median(middle[~slow])))


def prealloc_backpressure(s: Situation, found: Attribution) -> Finding | None:
    """Prefill starts only once decode has made room: its compute begins as the reservation is granted."""
    if not len(s.rows):
        return None
    r = s.requests
    granted, begun, queued = r.ended("decode_queue"), r.began("prefill_compute"), r.began("prefill_queue")
    known = r.inside & np.isfinite(granted) & np.isfinite(begun) & np.isfinite(queued)
    known &= r.began("decode_queue") < begun
    gated = known & (granted > queued + 1e-3) & (np.abs(begun - granted) < 0.02 + 0.05 * (begun - queued))
    wait = (begun - queued)[gated]
    if known.sum() < 10 or gated.sum() < 0.5 * known.sum() or float(np.median(wait)) < 0.05:
        return None
    detail = f"prefill of {int(gated.sum())} requests began when decode had made room"
    return Finding("prealloc_backpressure", "info", detail, int(gated.sum()))


def compatibility_mismatch(s: Situation, _: Attribution) -> Finding | None:
    """Producers and consumers that hand off to each other and differ in what both must agree on."""
    t, r = s.transfers, s.requests
    both = (r.prefill_worker != 0) & (r.decode_worker != 0)
    producers = np.concatenate([t.producer, r.prefill_worker[both]])
    consumers = np.concatenate([t.consumer, r.decode_worker[both]])
    # codes are hashes: a product that wraps round tells pairs apart as well
    first = np.unique(producers * _ODD + consumers, return_index=True)[1]
    workers = s.loaded.workers
    keys: set[str] = set()
    for producer, consumer in zip(producers[first].tolist(), consumers[first].tolist(), strict=True):
        keys |= set(differences(workers.get(producer), workers.get(consumer)))
    for differ in at_odds_with_decode(s).values():
        keys |= set(differ)
    if not keys:
        return None
    detail = f"the two sides of hand-offs differ in {', '.join(sorted(keys))}"
    return Finding("compatibility_mismatch", "warning", detail)
