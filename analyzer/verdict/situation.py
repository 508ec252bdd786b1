"""One window, prepared for the rules: who missed by how much, in which parts of their time, and what was
around.
`rows` are the missed requests; every array here has one entry a missed request unless it says otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TypeVar

import numpy as np

from analyzer import baselines
from analyzer.baselines import Baseline
from analyzer.kv_ledger import Ledger, ledger
from analyzer.occupancy import Occupancy
from analyzer.pools import Pools
from analyzer.verdict.load import Loaded
from analyzer.verdict.tables import (
    PART,
    ClockOffset,
    Codes,
    Flags,
    Floats,
    Index,
    Requests,
    Transfers,
    Transport,
)

ORDINARY_WAITS = 2.5
"""A wait of so many service times happens at random in a pool that has room (M/D/1 at 75 % load: mean
1.5).
"""
BUSY_RATIO = 1.5
"""Mean wait ÷ mean service from which on a pool is short of capacity: 75 % load of an M/D/1 queue."""
AROUND_S = 30.0
"""Half the stretch over which a pool's own ratio is taken, at least."""
UNBOUNDED_S = 1e9
"""Bounds of a clock this far away are none."""
STEPS_TO_JOIN = 2.0
"""Decode takes a request in between steps: the one under way ends, the next one plans it."""
TOKENIZE_S_PER_TOKEN = 2e-6
"""What a fast tokenizer takes, so that only slower ones count: supplied, from public tokenizer benchmarks."""


T = TypeVar("T")


@dataclass(frozen=True)
class Situation:
    """Everything the rules look at."""

    loaded: Loaded
    requests: Requests
    transfers: Transfers
    pools: Pools
    ledger: Ledger
    horizon: float
    compute: Baseline
    """Per request."""
    moving: Baseline
    """Per transfer."""
    batch: Floats
    """Per request: mean streams on its decode worker while it decoded."""
    step: Baseline
    """Per request."""

    @cached_property
    def rows(self) -> Index:
        """Requests that missed, as rows of `requests`."""
        return np.flatnonzero(self.requests.missed)

    def of(self, column: np.ndarray) -> np.ndarray:
        """A column of `requests`, for the missed ones."""
        return column[self.rows]

    @cached_property
    def over_ttft(self) -> Floats:
        """Seconds by which TTFT missed; 0 when it was met; at least its age when there was no token."""
        r = self.requests
        over = np.maximum(self.of(r.ttft) - self.of(r.ttft_limit), 0.0)
        return np.where(np.isfinite(over), over, 0.0)

    @cached_property
    def over_tpot(self) -> Floats:
        """Seconds per token by which TPOT missed; 0 when it was met."""
        over = np.maximum(self.of(self.requests.tpot) - self.of(self.requests.tpot_limit), 0.0)
        return np.where(np.isfinite(over), over, 0.0)

    @cached_property
    def failed(self) -> Flags:
        """Whether the request was not answered."""
        return ~self.of(self.requests.answered)

    @cached_property
    def hand_off(self) -> Index:
        """Row of `transfers` of the last hand-off of each request; -1 without one. Per request."""
        out = np.full(len(self.requests), -1, np.intp)
        t = self.transfers
        moved = np.isfinite(t.asked) | np.isfinite(t.imported)
        order = np.lexsort((t.attempt, np.isfinite(t.published), moved))
        out[t.request[order]] = order
        return out

    def of_hand_off(self, column: np.ndarray, empty: float = np.nan) -> np.ndarray:
        """A column of `transfers` for the last hand-off of each missed request; `empty` without one."""
        at = self.of(self.hand_off)
        if not len(self.transfers):
            return np.full(len(at), empty)
        return np.where(at >= 0, column[np.maximum(at, 0)], empty)

    @cached_property
    def exposed(self) -> Floats:
        """(rows, 12) seconds of TTFT by part; 0 where there is no timeline."""
        found: Floats = np.nan_to_num(self.of(self.requests.exposed))
        return found

    @cached_property
    def excess(self) -> Floats:
        """(rows, 12) seconds of each part beyond what is normal for the request."""
        r, exposed = self.requests, self.exposed
        normal = np.zeros_like(exposed)
        normal[:, PART["tokenize"]] = TOKENIZE_S_PER_TOKEN * np.nan_to_num(self.of(r.input_tokens))
        normal[:, PART["prefill_compute"]] = self._or_itself(
            self.of(self.compute.expected), "prefill_compute"
        )
        expected = self.of_hand_off(self.moving.expected)
        normal[:, PART["kv_transfer"]] = self._or_itself(expected, "kv_transfer")
        step = self.of(r.tpot)
        step = np.where(np.isfinite(step), step, self.pools.step_time)
        normal[:, PART["first_decode_step"]] = step
        normal[:, PART["decode_queue"]] = STEPS_TO_JOIN * step
        out: Floats = np.maximum(exposed - normal, 0.0)
        return out

    def _or_itself(self, expected: Floats, part: str) -> Floats:
        """Expected time; the time itself where nothing is known to expect: then there is no excess."""
        return np.where(np.isfinite(expected), expected, self.exposed[:, PART[part]])

    @cached_property
    def superseded(self) -> Occupancy:
        """Prompts computed for attempts that had been given up, by worker."""
        lost = self.loaded.superseded
        return Occupancy(lost["worker"], lost["since"], lost["until"])

    @cached_property
    def prefill_worker(self) -> Codes:
        """Worker that computed the prompt of each missed request."""
        return self.of(self.pools.prompt_worker)

    @cached_property
    def decode_worker(self) -> Codes:
        """Decode worker of each missed request."""
        return self.of(self.requests.decode_worker)

    def wait(self, phase: str) -> tuple[Floats, Floats]:
        """From when to when each missed request was in a phase; nan where it was not seen.

        Of `decode_queue` only the wait for room counts (see Pools.room_wait).
        """
        if phase == "decode_queue":
            since, until = self.pools.room_wait
            return self.of(since), self.of(until)
        return self.of(self.requests.began(phase)), self.of(self.requests.ended(phase))

    @cached_property
    def between_pools_doubt(self) -> Floats:
        """Seconds by which the way from prefill to decode may be shorter than the two clocks say.

        A clock of which nothing is known is taken to be right unless another of the window is off.
        """
        names = {worker.name: code for code, worker in self.loaded.workers.items()}
        known = {names[c.worker]: c for c in self.loaded.clocks if c.worker in names}
        unknown = np.inf if any(c.offset_ns for c in self.loaded.clocks) else 0.0

        def doubt(workers: Codes, ahead: bool) -> Floats:
            out = np.full(len(workers), unknown)
            for code, clock in known.items():
                low, high = clock.offset_ns - clock.low_ns, clock.high_ns - clock.offset_ns
                side = (high if ahead else low) / 1e9
                out[workers == code] = side if side < UNBOUNDED_S else unknown
            return out

        return doubt(self.decode_worker, ahead=True) + doubt(self.prefill_worker, ahead=False)

    @cached_property
    def prefill_short(self) -> Flags:
        """Whether the wait for prefill is more than ordinary queueing in a pool that has room."""
        since, until = self.wait("prefill_queue")
        service = self._typical_service()
        # Where no service time is known, what is typical cannot widen the look around.
        around = np.maximum(AROUND_S, np.nan_to_num(service * 10, nan=0.0, posinf=0.0))
        middle = np.nan_to_num((since + until) / 2)
        worker = self.prefill_worker
        waiting = self.pools.prefill_waiting.mean(worker, middle - around, middle + around)
        running = self.pools.prefill_running.mean(worker, middle - around, middle + around)
        ratio = np.where(
            running > 0, waiting / np.where(running > 0, running, 1.0), np.where(waiting > 0, np.inf, 0)
        )
        own = np.nan_to_num(until - since)
        return (own > ORDINARY_WAITS * service) | ((ratio > BUSY_RATIO) & (own > service))

    def _typical_service(self) -> Floats:
        """Mean prefill time seen by a random instant (E[S²] ÷ E[S]) over each missed request's worker."""
        took = self.requests.duration("prefill_compute")
        known = np.isfinite(took) & (took > 0)
        if not known.any():
            return np.full(len(self.rows), np.inf)
        everyone = float((took[known] ** 2).sum() / took[known].sum())
        return np.full(len(self.rows), everyone)

    @cached_property
    def decode_full(self) -> tuple[Flags, Flags]:
        """Whether decode lacked room while the request waited for it, and whether gauges tell."""
        since, until = self.wait("decode_queue")
        tokens = self.of(self.requests.input_tokens + np.nan_to_num(self.requests.output_tokens))
        full, known = self.pools.decode_full(
            self.decode_worker, np.nan_to_num(since), np.nan_to_num(until), tokens
        )
        return full & np.isfinite(since), known

    def name(self, code: int) -> str:
        """Name of a worker."""
        worker = self.loaded.workers.get(int(code))
        return worker.name if worker else ""


def once(function: Callable[[Situation], T]) -> Callable[[Situation], T]:
    """A function of a situation that rules share, worked out once for each situation; nobody may change what
    it gives.
    """
    name = f"once {function.__module__}.{function.__qualname__}"

    @wraps(function)
    def known(s: Situation) -> T:
        kept = vars(s)
        if name not in kept:
            kept[name] = function(s)
        value: T = kept[name]
        return value

    return known


def prepare(loaded: Loaded, horizon: float) -> Situation:
    """Prepare a window. horizon: newest instant that telemetry covers, seconds from origin."""
    requests, transfers = loaded.requests, loaded.transfers
    pools = Pools(requests, loaded.readings)
    began, until = pools.streams
    since = np.fmax(requests.ended("first_decode_step"), requests.began("decode"))
    since = np.where(np.isfinite(since), since, began)
    known = np.isfinite(since) & np.isfinite(until)
    batch = pools.decode_running.mean(requests.decode_worker, np.nan_to_num(since), np.nan_to_num(until))
    batch = np.where(known, batch, np.nan)
    return Situation(
        loaded,
        requests,
        transfers,
        pools,
        ledger(transfers, requests, horizon, _clock_doubt(loaded.clocks)),
        horizon,
        baselines.prefill_compute(requests),
        baselines.transfer(transfers, requests, faster_path(loaded)),
        batch,
        baselines.decode_step(requests, batch),
    )


def _clock_doubt(clocks: list[ClockOffset]) -> float:
    """Seconds by which a clock that was set right may still be off, at most; 0 where none was.

    A side that nothing bounds says nothing of by how much.
    """
    sides = [
        side / 1e9
        for clock in clocks
        if clock.offset_ns and not clock.contradictory
        for side in (clock.high_ns - clock.offset_ns, clock.offset_ns - clock.low_ns)
    ]
    return max((side for side in sides if side < UNBOUNDED_S), default=0.0)


FAST_DEVICES = ("mlx", "ib", "roce", "rdma", "efa", "irdma", "bnxt_re")
"""How the devices of faster fabrics are named, as kernel drivers name them."""


def faster_path(loaded: Loaded) -> Flags:
    """Transfers over TCP where a faster way exists: an RDMA device on either side, or others that use one."""
    t = loaded.transfers
    tcp = t.transport == Transport.TCP
    has_device = any(
        item.signal == "nic_bytes_total" and item.part.startswith(FAST_DEVICES) for item in loaded.increases
    )
    others = bool(np.isin(t.transport, (Transport.RDMA, Transport.NVLINK)).any())
    found: Flags = tcp & (has_device | others | (_carried(t) < FAR_BELOW * t.link_gb_s))
    return found


FAR_BELOW = 0.25
"""TCP that carries less than this share of a known line leaves most of it unused."""


def _carried(t: Transfers) -> Floats:
    """Bytes per second (1e9) that all transfers together carried while each one ran."""
    took = t.seconds
    everyone = np.ones(len(t), np.uint64)
    rate = Occupancy(everyone, t.asked, t.moved, t.bytes / took / 1e9)
    return rate.mean(everyone, np.nan_to_num(t.asked), np.nan_to_num(t.moved))
