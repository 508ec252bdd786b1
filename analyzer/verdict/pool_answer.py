"""State of every worker of both pools, from gauges where they tell and from timelines where they do not."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from analyzer.occupancy import Occupancy
from analyzer.pools import AT_CAP, FULL_KV
from analyzer.verdict.attribution import COLUMN
from analyzer.verdict.diagnosis import Diagnosis
from analyzer.verdict.situation import BUSY_RATIO, Situation
from analyzer.verdict.tables import Floats
from analyzer.verdict.vocabulary import Cause

STEPS = 60
"""Steps of the window in which saturation is judged, to say since when."""
LATELY_S = 60.0
"""What "now" is: the last minute of the window."""
_SERVICE = {"prefill": "prefill_compute", "decode": "decode"}
"""The phase in which a worker of each pool serves a request."""


@dataclass(frozen=True)
class Sourced:
    """A value with how it is known; `reason` says why it is not."""

    value: Any
    source: str | None = "observed"
    reason: str | None = None


@dataclass(frozen=True)
class WorkerState:
    """One worker; `since` in seconds from origin."""

    worker: str
    queue_depth: Sourced
    running: Sourced
    kv_used_fraction: Sourced
    kv_pinned_tokens: Sourced
    service_rates: Sourced
    saturated: Sourced
    headroom: Sourced
    since: float | None


@dataclass(frozen=True)
class PoolState:
    """One pool, its workers by name."""

    pool: str
    workers: list[WorkerState]
    skew: float | None
    verdict: str


def pool_states(found: Diagnosis) -> list[PoolState]:
    """Prefill and decode at the end of the window (or of telemetry, when that is earlier)."""
    s = found.situation
    pools = []
    for pool, codes in (("prefill", s.pools.prefill_workers), ("decode", s.pools.decode_workers)):
        idle = [
            code for code, w in s.loaded.workers.items() if w.role == pool and code not in set(codes.tolist())
        ]
        known = [code for code in idle if s.loaded.readings.series("running", code) is not None]
        workers = [_worker(s, pool, int(code)) for code in [*codes.tolist(), *known]]
        if workers:
            workers.sort(key=lambda item: item.worker)
            pools.append(PoolState(pool, workers, _skew(s, pool), _verdict(found, pool, workers)))
    return pools


def _end(s: Situation) -> float:
    return min((s.loaded.scope.to_ns - s.loaded.origin_ns) / 1e9, s.horizon)


def _worker(s: Situation, pool: str, code: int) -> WorkerState:
    waiting = s.pools.prefill_waiting if pool == "prefill" else s.pools.decode_waiting
    running = s.pools.prefill_running if pool == "prefill" else s.pools.decode_running
    held = s.pools.prefill_held if pool == "prefill" else s.pools.decode_held
    end = _end(s)
    saturated, known, since = _saturation(s, pool, code, waiting, running)
    waits_untold = _untold(s, pool, code, f"{pool}_queue")
    service_untold = _untold(s, pool, code, _SERVICE[pool])
    used = _level(s, "kv_used_fraction", code, None, end)
    capacity = float(s.pools.kv_capacity(np.array([code], np.uint64))[0])
    if used.value is None and np.isfinite(capacity):
        derived = _now(held, code, end) / capacity
        used = Sourced(round(derived, 4), "derived")
    return WorkerState(
        s.name(code),
        _level(s, "queue_depth", code, waiting, end, waits_untold),
        _level(s, "running", code, running, end, service_untold),
        used,
        Sourced(_pinned(s, pool, code, end), "derived"),
        Sourced(None, None, service_untold) if service_untold else Sourced(_rates(s, pool, code), "derived"),
        Sourced(None, None, waits_untold)
        if waits_untold and not known
        else Sourced(saturated, "observed" if known else "derived"),
        Sourced(None, None, "no gauge tells its KV use")
        if used.value is None
        else Sourced(round(1 - used.value, 4), used.source),
        since,
    )


def _untold(s: Situation, pool: str, code: int, phase: str) -> str | None:
    """Why nothing follows from a worker's timelines: it had requests, and none tells the phase; else None."""
    r = s.requests
    own = (s.pools.prompt_worker if pool == "prefill" else r.decode_worker) == code
    if not own.any() or np.isfinite(r.ended(phase)[own]).any():
        return None
    return f"none of this worker's requests tells {phase}"


def _level(
    s: Situation, signal: str, code: int, timeline: Occupancy | None, end: float, untold: str | None = None
) -> Sourced:
    value = s.loaded.readings.read(signal, np.array([code], np.uint64), np.array([end]))[0]
    if np.isfinite(value):
        return Sourced(round(float(value), 4))
    if timeline is None:
        return Sourced(None, None, f"no metric of this worker gives {signal}")
    if untold is not None:
        return Sourced(None, None, untold)
    return Sourced(round(_now(timeline, code, end), 3), "derived")


def _now(timeline: Occupancy, code: int, end: float) -> float:
    workers, since = np.array([code], np.uint64), np.array([end - LATELY_S])
    return float(timeline.mean(workers, since, np.array([end]))[0])


def _pinned(s: Situation, pool: str, code: int, end: float) -> float:
    held = s.ledger.orphans_held(pool == "decode")
    return float(held.level(np.array([code], np.uint64), np.array([end - 1e-3]))[0])


def _rates(s: Situation, pool: str, code: int) -> dict[str, float]:
    """Requests and tokens per second served over the window."""
    r = s.requests
    inside = r.inside & ((r.prefill_worker if pool == "prefill" else r.decode_worker) == code)
    seconds = (s.loaded.scope.to_ns - s.loaded.scope.from_ns) / 1e9
    done = inside & np.isfinite(r.ended(_SERVICE[pool]))
    tokens = r.input_tokens if pool == "prefill" else r.output_tokens
    busy = np.nansum(r.duration(_SERVICE[pool])[done])
    name = "prompt" if pool == "prefill" else "output"
    return {
        "requests_per_s": round(float(done.sum()) / seconds, 4),
        f"{name}_tokens_per_s": round(float(np.nansum(tokens[done])) / seconds, 2),
        f"{name}_tokens_per_busy_s": round(float(np.nansum(tokens[done]) / busy), 2) if busy > 0 else 0.0,
    }


def _saturation(
    s: Situation, pool: str, code: int, waiting: Occupancy, running: Occupancy
) -> tuple[bool, bool, float | None]:
    """Whether the worker lacks capacity at the end, whether gauges tell, and since when that has been so."""
    start = 0.0
    edges = np.linspace(start, max(_end(s), start + 1.0), STEPS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    codes = np.full(STEPS, code, np.uint64)
    waits, runs = waiting.series(code, edges), running.series(code, edges)
    short = (waits >= 0.5) & (waits > BUSY_RATIO * np.maximum(runs, 1e-9))
    used = s.pools.kv_used(codes, middle)
    gauge = s.loaded.readings.read("running", codes, middle)
    most = np.nanmax(gauge) if np.isfinite(gauge).any() else np.nan
    full = (used >= FULL_KV) & (waits >= 0.5)
    at_cap = (gauge >= AT_CAP * most) & (waits >= 1.0)
    state: np.ndarray = short | full | at_cap if pool == "decode" else short | full
    known = bool(np.isfinite(used).any() or np.isfinite(gauge).any())
    changes = np.flatnonzero(np.diff(state.astype(np.int8)))
    return bool(state[-1]), known, float(edges[changes[-1] + 1]) if len(changes) else None


def _skew(s: Situation, pool: str) -> float | None:
    """Longest waiting time of a worker over the median one's; None below three workers or without waits."""
    r = s.requests
    workers = s.pools.siblings(pool)
    own = r.prefill_worker if pool == "prefill" else r.decode_worker
    took = np.where(r.inside, np.nan_to_num(r.duration(f"{pool}_queue")), 0.0)
    waited: Floats = np.array([took[own == code].sum() for code in workers])
    middle = float(np.median(waited)) if len(waited) >= 3 else 0.0
    return round(float(waited.max()) / middle, 3) if middle > 0 else None


def _verdict(found: Diagnosis, pool: str, workers: list[WorkerState]) -> str:
    """One phrase: the bottleneck, short of capacity, idle beside the bottleneck, or with room."""
    short = sum(bool(worker.saturated.value) for worker in workers)
    shares = found.attribution.shares.mean(axis=0) if len(found.situation.rows) else None
    own = Cause.PREFILL_STARVED if pool == "prefill" else Cause.DECODE_STARVED
    other = Cause.DECODE_STARVED if pool == "prefill" else Cause.PREFILL_STARVED
    if shares is not None and shares[COLUMN[own]] >= 0.3:
        return f"the bottleneck: {shares[COLUMN[own]]:.0%} of the misses waited for it"
    if shares is not None and shares[COLUMN[other]] >= 0.3:
        return "has room while the other pool is the bottleneck"
    if short:
        return f"{short} of {len(workers)} workers are short of capacity"
    if all(worker.saturated.value is None for worker in workers):
        return "not known: nothing tells who waits or how full its workers are"
    return "has room"
