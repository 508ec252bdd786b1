"""What the pools were doing, rebuilt from timelines: who waited and ran where, and whether it had room.

By Little's law mean waiting ÷ mean running of a worker is mean wait ÷ mean service, whatever the arrivals.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analyzer.occupancy import Occupancy, groups
from analyzer.room import as_a_rule, taken_as_room_came
from analyzer.verdict.readings import SERVING, STALE_AFTER_S, Readings
from analyzer.verdict.tables import Codes, Flags, Floats, Outcome, Requests

FULL_KV = 0.9
"""From this fraction of its cache in use on, a worker cannot take the next prompt."""
AT_CAP = 0.95
"""A worker that runs this fraction of the most it ever ran is at its cap, if others wait."""
SERVED_AROUND_S = 60.0
"""Without gauges a worker counts as there when it served a request so shortly before and after."""
DRAINS_S = 300.0
"""A worker that leaves finishes what it has within so long; one that had no work before was sent none."""
STEPS_OF_ROOM = 3.0
"""A shorter wait than so many steps is being taken in, not waiting for room."""
HOLE_S = 1e-3
"""A phase that lasts by so much less than from its first instant to its last has a hole in it."""
ALIVE_LEAST = 0.6
"""Share of a full cache that running requests must hold for decode itself to be what is short."""
ALIVE_STREAMS = 0.5
"""Share of what decode took out of its queue that must stream: else hand-offs under way hold its room."""
FREED_WITHIN_STEPS = 2.0
"""The step under way as a stream ends is over, and the next one is planned with its room."""
AS_A_RULE = 0.5
"""Share of a worker's long waits in line during which it runs many: else that is by chance."""
SOMETIMES = 0.25
"""Share of a worker's long waits during which a gauge reads its highest: less often it does so by chance."""
LONG_WAIT_STEPS = 20.0
"""A hand-over's control path takes a few steps; a wait of more, with others waiting too, is for room."""


@dataclass(frozen=True)
class Pools:
    """Occupancies of the two pools over time, and what gauges add to them."""

    requests: Requests
    readings: Readings

    @cached_property
    def prefill_waiting(self) -> Occupancy:
        """Requests in the queue of each prefill worker."""
        r = self.requests
        return Occupancy(self.prompt_worker, r.began("prefill_queue"), r.ended("prefill_queue"))

    @cached_property
    def prefill_running(self) -> Occupancy:
        """Requests whose prompt each prefill worker computes."""
        r = self.requests
        return Occupancy(self.prompt_worker, r.began("prefill_compute"), r.ended("prefill_compute"))

    @cached_property
    def prefill_departed(self) -> Occupancy:
        """Prompts that are computed although their client is gone."""
        r = self.requests
        gone = np.where(r.outcome == Outcome.CANCELLED, r.end, np.nan)
        start = np.fmax(r.began("prefill_compute"), gone)
        start[~np.isfinite(gone)] = np.nan
        return Occupancy(self.prompt_worker, start, r.ended("prefill_compute"))

    @cached_property
    def decode_waiting(self) -> Occupancy:
        """Requests that wait for room on each decode worker."""
        return Occupancy(self.requests.decode_worker, *self.room_wait)

    @cached_property
    def room_wait(self) -> tuple[Floats, Floats]:
        """From when to when each request waited for room on decode, and for nothing else.

        Where decode has a request while prefill still computes it, and keeps it until after that, it waits
        for the prompt first: only what comes after the prompt's end is a wait for room.
        """
        r = self.requests
        since, until, prompt = r.began("decode_queue"), r.ended("decode_queue"), r.ended("prefill_compute")
        behind = np.isfinite(prompt) & (until >= prompt)
        return self._longer_piece(np.where(behind, np.fmax(since, np.minimum(prompt, until)), since), until)

    def _longer_piece(self, since: Floats, until: Floats) -> tuple[Floats, Floats]:
        """The longer of the waits before and after the hand-off, where both are known to be apart."""
        r = self.requests
        asked, imported = r.began("kv_transfer"), r.ended("kv_import")
        apart = (asked > since) & (imported > asked) & (until > imported)
        apart &= until - r.began("decode_queue") > r.duration("decode_queue") + HOLE_S
        after = apart & (until - imported > asked - since)
        return np.where(after, imported, since), np.where(apart & ~after, asked, until)

    @cached_property
    def decode_running(self) -> Occupancy:
        """Streams of each decode worker."""
        return Occupancy(self.requests.decode_worker, *self.streams)

    @cached_property
    def decode_taken(self) -> Occupancy:
        """What each decode worker took out of its queue: streams, and requests whose KV is on its way."""
        return Occupancy(self.requests.decode_worker, *self.decode_taking)

    @cached_property
    def decode_taking(self) -> tuple[Floats, Floats]:
        """From when to when each request was out of decode's queue and not over."""
        r = self.requests
        began, ended = self.streams
        fetched = np.where(r.began("kv_transfer") >= r.ended("decode_queue"), r.began("kv_transfer"), np.nan)
        ended = np.where(np.isfinite(ended), ended, r.ended("kv_transfer"))
        return np.fmin(began, fetched), ended

    @cached_property
    def streams(self) -> tuple[Floats, Floats]:
        """From when to when each request occupied a decode slot.

        Where decode's own span is not there the answer's last token tells the end: it is a little later.
        """
        r = self.requests
        began = np.fmin(r.began("first_decode_step"), r.began("decode"))
        ended = np.fmax(r.ended("first_decode_step"), r.ended("decode"))
        untold = r.answered & np.isfinite(r.ttft) & ~np.isfinite(r.ended("decode"))
        last_token = r.start + r.ttft + np.nan_to_num(r.tpot * np.maximum(r.output_tokens - 1, 0.0))
        sent_first = np.where(untold & (r.decode_worker != 0), r.start + r.ttft, np.nan)
        return np.fmin(began, sent_first), np.where(untold, np.fmax(ended, last_token), ended)

    @cached_property
    def decode_local_prompts(self) -> Occupancy:
        """Prompts that each decode worker computes itself because a hand-off failed or was missing."""
        return self.local_prompts(np.ones(len(self.requests), bool))

    def local_prompts(self, chosen: Flags) -> Occupancy:
        """The same for some requests only."""
        r = self.requests
        local = (r.local_prompt_tokens > 0) & ~r.appended & chosen
        since = np.fmin(r.began("kv_import"), r.began("first_decode_step"))
        until = np.fmax(r.ended("kv_import"), r.ended("first_decode_step"))
        return Occupancy(np.where(local, r.decode_worker, 0).astype(np.uint64), since, until)

    @cached_property
    def prefill_held(self) -> Occupancy:
        """Prompt tokens in each prefill worker's cache, from the first step to the end of the hand-off."""
        r = self.requests
        until = np.fmax(np.fmax(r.ended("prefill_compute"), r.ended("kv_publish")), r.ended("kv_transfer"))
        return Occupancy(self.prompt_worker, r.began("prefill_compute"), until, r.input_tokens)

    @cached_property
    def decode_held(self) -> Occupancy:
        """Tokens in each decode worker's cache; an answer counts half, as it grows evenly."""
        r = self.requests
        began, ended = self.streams
        began = np.fmin(began, r.began("kv_transfer"))
        tokens = r.input_tokens + np.nan_to_num(r.output_tokens) / 2
        return Occupancy(r.decode_worker, began, ended, tokens)

    @cached_property
    def prompt_worker(self) -> Codes:
        """Worker that computed each prompt: the decode worker in colocated pools."""
        r = self.requests
        computed = np.isfinite(r.began("prefill_compute")) | np.isfinite(r.began("prefill_queue"))
        return np.where((r.prefill_worker == 0) & computed, r.decode_worker, r.prefill_worker)

    def available(self, worker: int, at: Floats) -> Flags:
        """Whether a worker could have taken work: its gauges are fresh and it is not on its way out, or,
        without gauges, it served others shortly before and after.
        """
        codes = np.full(len(at), worker, np.uint64)
        for signal in SERVING:
            series = self.readings.series(signal, worker)
            if series is not None:
                alive = np.isfinite(self.readings.read(signal, codes, at))
                down = self.readings.read("up", codes, at) == 0
                found: Flags = alive & ~down & (at <= self._takes_work_until(worker, float(series.at[-1])))
                return found
        r = self.requests
        own = np.sort(r.start[(r.prefill_worker == worker) | (r.decode_worker == worker)])
        since, until = np.searchsorted(own, at - SERVED_AROUND_S), np.searchsorted(own, at + SERVED_AROUND_S)
        middle = np.searchsorted(own, at)
        return (middle > since) & (until > middle)

    def told_from(self, worker: int) -> float:
        """Since when gauges tell of a worker that came after others; -inf for one that was there before."""
        first = [self.readings.begin(signal, worker) for signal in SERVING]
        since = min(first)
        came_later = np.isfinite(since) and since - self.readings.earliest() > STALE_AFTER_S
        return since if came_later else -np.inf

    def _takes_work_until(self, worker: int, told_until: float) -> float:
        """Until when a worker takes new work: to its last request where its gauges end before others' do.

        What is scaled down finishes what it has and takes no more; then it is gone.
        """
        if self.readings.latest() - told_until <= STALE_AFTER_S:
            return np.inf
        r = self.requests
        own = r.start[(r.prefill_worker == worker) | (r.decode_worker == worker)]
        return max(float(own.max()), told_until - DRAINS_S) if len(own) else told_until

    @cached_property
    def prefill_workers(self) -> Codes:
        """Workers that computed prompts."""
        return np.unique(self.prompt_worker[self.prompt_worker != 0])

    @cached_property
    def decode_workers(self) -> Codes:
        """Workers that decoded."""
        return np.unique(self.requests.decode_worker[self.requests.decode_worker != 0])

    def siblings(self, pool: str) -> Codes:
        """Workers that could serve these requests: those that did, and those whose gauges name the same
        model and pool, though no request came their way.
        """
        served = self.prefill_workers if pool == "prefill" else self.decode_workers
        return np.union1d(served, self.readings.of_pool(pool, np.unique(self.requests.model)))

    @cached_property
    def step_time(self) -> float:
        """Median time per output token of the window, seconds; 0.05 where none is known."""
        known = self.requests.tpot[np.isfinite(self.requests.tpot)]
        return float(np.median(known)) if len(known) else 0.05

    @cached_property
    def streams_if_prefill_kept_up(self) -> tuple[Floats, Floats]:
        """From when to when each request would occupy a decode slot without waits for prefill.

        Throughput that a pool in front holds back hides what the pool behind it lacks.
        """
        waited = np.nan_to_num(self.requests.duration("prefill_queue"))
        began, ended = self.streams
        return began - waited, ended - waited

    @cached_property
    def decode_slots(self) -> float:
        """Streams that all decode workers run at most; nan unless each let requests wait at its most."""
        most = [self._slots(int(code)) for code in self.decode_workers.tolist()]
        return float(np.sum(most)) if most else np.nan

    def _slots(self, worker: int) -> float:
        series = self.readings.series("running", worker)
        if series is None or series.high < 1:
            return np.nan
        at = series.at[series.value >= AT_CAP * series.high]
        held_back = self.decode_waiting.level(np.full(len(at), worker, np.uint64), at) > 0
        return series.high if held_back.sum() >= 2 and held_back.mean() >= 0.5 else np.nan

    def kv_used(self, workers: Codes, at: Floats) -> Floats:
        """Fraction of each worker's cache in use; nan where no gauge tells."""
        return self.readings.read("kv_used_fraction", workers, at)

    def kv_capacity(self, workers: Codes) -> Floats:
        """Tokens each worker's cache can hold; nan where it does not say."""
        blocks, each = self.most(workers, "kv_capacity_blocks"), self.most(workers, "kv_block_tokens")
        return np.fmax(self.most(workers, "kv_capacity_tokens"), blocks * each)

    def decode_full(
        self, workers: Codes, since: Floats, until: Floats, tokens: Floats
    ) -> tuple[Flags, Flags]:
        """Whether each decode worker lacked room during a wait, and whether gauges say so (else derived).

        Full: its cache is nearly in use, or has less left than the request's tokens; or it runs as many as it
        ever did while the wait is longer than steps alone explain.
        """
        middle = (since + until) / 2
        used = np.fmax(self.kv_used(workers, until), self.kv_used(workers, middle))
        too_little = (1.0 - used) * self.kv_capacity(workers) < tokens
        by_kv = ((used >= FULL_KV) | too_little) & (until - since > STEPS_OF_ROOM * self.step_time)
        long_wait = until - since > max(0.25, 10 * self.step_time)
        running = self.readings.read("running", workers, middle)
        most = self.most(workers, "running")
        by_slots = as_a_rule(workers, long_wait, (running >= AT_CAP * most) & (most > 0), SOMETIMES)
        derived = self.decode_running.mean(workers, since, until)
        peak = _peaks(self.decode_running, workers)
        flat = long_wait & (derived >= AT_CAP * 0.9 * peak) & (peak >= 2)
        known = np.isfinite(used) | np.isfinite(running)
        others = self.decode_waiting.mean(workers, since, until) - 1.0
        long_line = until - since > max(0.25, LONG_WAIT_STEPS * self.step_time)
        taken = self.decode_taken.mean(workers, since, until)
        alive = taken >= np.maximum(1.0, ALIVE_LEAST * _peaks(self.decode_taken, workers))
        alive &= derived >= ALIVE_STREAMS * taken
        # where gauges show room and fewer than it ran at most, that many wait says nothing of room
        roomy = (used < FULL_KV - 0.15) & (running < AT_CAP * most)
        in_line = as_a_rule(workers, long_line & (others >= 1.0), alive, AS_A_RULE) & ~roomy
        in_line |= self._as_streams_left(workers, since, np.where(long_line, until, np.nan))
        said = by_kv | by_slots | in_line
        return np.where(np.isfinite(running) | by_kv, said, in_line | flat & ~(used < FULL_KV - 0.15)), known

    def _as_streams_left(self, workers: Codes, since: Floats, until: Floats) -> Flags:
        """Waits that end as streams of the worker end, which hold most of its room: not prompts or KV that
        have yet to come.
        """
        r, (_, ended) = self.requests, self.streams
        soon = FREED_WITHIN_STEPS * self.step_time
        found = taken_as_room_came(workers, until, r.decode_worker, ended, soon)
        if not found.any():
            return found
        holding = Occupancy(r.decode_worker, r.ended("decode_queue"), ended).mean(workers, since, until)
        running = self.decode_running.mean(workers, since, until)
        return found & (running >= ALIVE_STREAMS * holding)

    def decode_kv_full(self, workers: Codes, at: Floats, least: float = ALIVE_LEAST) -> Flags:
        """Whether each decode worker's cache is full of requests that run there. least: share they hold.

        Where decode makes room before prefill computes, its gauge is high because of prefill's backlog: what
        is held for requests that have arrived must be most of it.
        """
        full = self.kv_used(workers, at) >= FULL_KV
        if not full.any():
            return full
        arrived = self.decode_held.level(workers, at) / self.kv_capacity(workers)
        peak = np.maximum(_peaks(self.decode_running, workers), 1.0)
        alive = np.where(np.isfinite(arrived), arrived, self.decode_running.level(workers, at) / peak)
        return full & (alive >= least)

    def most(self, workers: Codes, signal: str) -> Floats:
        """Each worker's highest reading; nan where there is none."""
        out = np.full(len(workers), np.nan)
        for worker, members in groups(workers):
            series = self.readings.series(signal, worker)
            if series is not None:
                out[members] = series.high
        return out


def _peaks(occupancy: Occupancy, workers: Codes) -> Floats:
    out = np.zeros(len(workers))
    for worker, members in groups(workers):
        out[members] = occupancy.peak(worker, 0.0)
    return out
