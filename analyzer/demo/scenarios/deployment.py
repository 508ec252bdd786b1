"""A deployment in motion: requests from the router through prefill, hand-off and decode to their end."""

import random
from dataclasses import dataclass

from analyzer.demo.scenarios.decode import Calls, DecodeWorker, Stream
from analyzer.demo.scenarios.gauges import Gauges, sample
from analyzer.demo.scenarios.handoff import Handoff
from analyzer.demo.scenarios.loop import Loop
from analyzer.demo.scenarios.prefill import Job, PrefillWorker
from analyzer.demo.scenarios.setup import Mode, Setup
from analyzer.demo.scenarios.trip import Trip, draw
from analyzer.demo.scenarios.way_out import send_out

ROUTER = "router-0"
SAMPLE_EVERY_S = 1.0


@dataclass(frozen=True)
class Take:
    """A scenario that was played, in seconds from its start."""

    before: Setup
    after: Setup
    onset_s: float
    trips: list[Trip]
    gauges: list[Gauges]
    ended_s: float


def play(before: Setup, after: Setup, onset_s: float, seconds: float, seed: int) -> Take:
    """Let traffic arrive for `seconds`, and everything that follows happen; `after` holds from `onset_s`."""
    return _Deployment(before, after, onset_s, seconds, seed).play()


class _Deployment:
    """The router and its pools."""

    def __init__(self, before: Setup, after: Setup, onset_s: float, seconds: float, seed: int) -> None:
        self.setup, self.before, self.after, self.onset_s = before, before, after, onset_s
        self.seconds, self.rng, self.loop = seconds, random.Random(seed), Loop()
        self.trips: list[Trip] = []
        self.gauges: list[Gauges] = []
        self.mode = before.mode
        kind = "colocated" if self.mode is Mode.COLOCATED else "decode"
        count = 0 if self.mode is Mode.COLOCATED else max(before.prefill.workers, after.prefill.workers)
        self.prefill = [PrefillWorker(self.loop, i, before.prefill, self._computed) for i in range(count)]
        calls = Calls(self._allocated, self._prompt_computed, self._finished)
        decode = max(before.decode.workers, after.decode.workers)
        self.decode = [DecodeWorker(self.loop, f"{kind}-{i}", i, before.decode, calls) for i in range(decode)]
        self.handoff = Handoff(self.loop, self.prefill, self.decode, before, self._fail)
        self._router_free = 0.0
        self._waits_for_room: dict[int, Job] = {}

    def play(self) -> Take:
        """Play it to its end."""
        self.loop.at(self.onset_s, self._onset)
        self._next_arrival()
        self.loop.at(0.0, self._sample)
        self.loop.run()
        for upto, setup in ((self.onset_s, self.before), (float("inf"), self.after)):
            chosen = [t for t in self.trips if (t.arrived < self.onset_s) == (upto == self.onset_s)]
            send_out(setup.router, chosen)
        ended = max((trip.ended or 0.0 for trip in self.trips), default=0.0)
        ended = max([ended, *(stay.end for trip in self.trips for stay in trip.stays)])
        return Take(self.before, self.after, self.onset_s, self.trips, self.gauges, ended)

    def _onset(self) -> None:
        self.setup = self.handoff.setup = self.after
        for worker in self.prefill:
            worker.setup = self.after.prefill
            worker.cold = "prefill" in self.after.restarts
        for decode in self.decode:
            decode.setup = self.after.decode
        if "decode" in self.after.restarts:
            self.decode[0].generation += 1
            self.decode[0].layout = self.after.decode.layout
        self.handoff.relay()

    def _sample(self) -> None:
        self.gauges.append(sample(self.loop.now, self.trips, self.prefill, self.decode))
        if self.loop.now < self.seconds or any(trip.alive for trip in self.trips):
            self.loop.after(SAMPLE_EVERY_S, self._sample)

    # Router

    def _next_arrival(self) -> None:
        gap = self.rng.expovariate(self.setup.traffic.rate)
        if self.loop.now + gap < self.seconds:
            self.loop.after(gap, self._arrive)

    def _arrive(self) -> None:
        now, router = self.loop.now, self.setup.router
        trip = draw(self.rng, self.setup.traffic, len(self.trips), now)
        self.trips.append(trip)
        self._router_free = max(now, self._router_free) + router.service_s
        self.loop.at(self._router_free, self._routed, trip)
        self.loop.after(router.deadline_s, self._leave, trip, "timeout")
        if trip.leaves_after is not None:
            self.loop.after(trip.leaves_after, self._leave, trip, "cancelled")
        self._next_arrival()

    def _routed(self, trip: Trip) -> None:
        trip.spent("router_queue", ROUTER, trip.arrived, min(self.loop.now, trip.ended or self.loop.now))
        if trip.alive:
            self.loop.after(
                self.setup.router.tokenize_token_s * trip.prompt, self._tokenized, trip, self.loop.now
            )

    def _tokenized(self, trip: Trip, since: float) -> None:
        if trip.alive:
            trip.spent("tokenize", ROUTER, since, self.loop.now)
            self._dispatch(trip)

    def _dispatch(self, trip: Trip) -> None:
        router = self.setup.router
        if self.mode is Mode.COLOCATED:
            self._to_decode(trip)
            return
        worker = self._choose_prefill(trip)
        trip.prefill = worker.number
        job = Job(trip, trip.attempt, self.loop.now)
        if self.mode is Mode.RESERVED:
            self._waits_for_room[trip.number] = job
            self._to_decode(trip)
        else:
            worker.take(job)
        if router.attempt_timeout_s is not None and trip.attempt < router.attempts:
            self.loop.after(router.attempt_timeout_s, self._again, trip, trip.attempt)

    def _choose_prefill(self, trip: Trip) -> PrefillWorker:
        setup = self.setup.prefill
        if trip.luck[0] < setup.hot_share:
            return self.prefill[0]
        others = [w for w in self.prefill[: setup.workers] if trip.attempt == 1 or w.number != trip.prefill]
        return min(
            others or self.prefill[:1],
            key=lambda w: (w.backlog, (w.number - trip.number) % len(self.prefill)),
        )

    def _to_decode(self, trip: Trip) -> None:
        setup = self.setup.decode
        count = len(self.decode)
        able = self.decode[: setup.workers]
        best = min(able, key=lambda w: (w.load, (w.number - trip.number) % count))
        worker = self.decode[0] if trip.luck[0] < setup.hot_share else best
        trip.decode = worker.number
        worker.offer(trip)

    def _again(self, trip: Trip, attempt: int) -> None:
        """The router gave this attempt too little time: the same request once more."""
        if trip.alive and trip.attempt == attempt and not trip.published:
            if self.setup.prefill.honours_aborts:
                self.prefill[trip.prefill].drop(trip)
            trip.attempt += 1
            self._dispatch(trip)

    # Prefill

    def _computed(self, worker: PrefillWorker, job: Job, start: float) -> None:
        trip = job.trip
        trip.spent("prefill_queue", worker.name, job.came, start, job.attempt)
        trip.spent("prefill_compute", worker.name, start, self.loop.now, job.attempt)
        if job.attempt != trip.attempt or not trip.alive:
            worker.give_back(trip.prompt)
            return
        trip.published = True
        self.handoff.hold(trip)
        self.loop.after(self.setup.cache.offer_s, self._published, trip, self.loop.now)

    def _published(self, trip: Trip, since: float) -> None:
        cache = self.setup.cache
        expires = self.loop.now + cache.lease_s
        trip.spent(
            "kv_publish", self.prefill[trip.prefill].name, since, self.loop.now,
            tokens=trip.prompt, bytes=trip.prompt * cache.bytes_per_token, lease=expires,
        )  # fmt: skip
        self.handoff.lease(trip, expires)
        if not trip.alive:
            self.handoff.release(trip, "cancelled")
        elif trip.luck[2] < cache.abandoned_share:
            self._gone(trip, "cancelled")
        elif self.mode is Mode.SEQUENTIAL:
            self.loop.after(self.setup.router.handover_s, self._handed_over, trip)
        else:
            self._transfer(trip)

    def _handed_over(self, trip: Trip) -> None:
        if trip.alive:
            self._to_decode(trip)

    def _transfer(self, trip: Trip) -> None:
        stream = self.decode[trip.decode].placed.get(trip.number)
        if stream is not None:
            self.handoff.start(trip, stream)

    # Decode

    def _allocated(self, stream: Stream) -> None:
        trip, worker, now = stream.trip, self.decode[stream.trip.decode], self.loop.now
        if self.mode is Mode.COLOCATED:
            worker.compute(stream, trip.prompt)
            return
        size = trip.prompt * self.setup.cache.bytes_per_token
        trip.spent("decode_queue", worker.name, stream.came, now, tokens=trip.prompt, bytes=size)
        if self.mode is Mode.SEQUENTIAL:
            self.handoff.start(trip, stream)
            return
        job = self._waits_for_room.pop(trip.number)
        if trip.luck[2] < self.setup.cache.reservation_abandoned_share:
            self._gone(trip, "cancelled")
            self.loop.after(self.setup.cache.reservation_s, self._reservation_over, trip)
        else:
            job.came = now
            self.prefill[trip.prefill].take(job)

    def _reservation_over(self, trip: Trip) -> None:
        worker = self.decode[trip.decode]
        if worker.forget(trip):
            self.handoff.note_release(trip, worker.name, "aborted")

    def _prompt_computed(self, stream: Stream) -> None:
        trip, worker, now = stream.trip, self.decode[stream.trip.decode], self.loop.now
        if self.mode is Mode.COLOCATED:
            trip.spent("prefill_queue", worker.name, stream.came, stream.began)
            trip.spent("prefill_compute", worker.name, stream.began, now)
            return
        trip.local_tokens = trip.prompt
        trip.spent("first_decode_step", worker.name, stream.began, now)

    def _finished(self, stream: Stream) -> None:
        trip, worker = stream.trip, self.decode[stream.trip.decode]
        if stream.began < 0 or (not trip.local_tokens and self.mode is not Mode.COLOCATED):
            first_join = next((stay.end for stay in trip.stays if stay.phase == "kv_import"), trip.tokens[0])
            trip.spent("first_decode_step", worker.name, first_join, trip.tokens[0])
        trip.spent("decode", worker.name, trip.tokens[0], trip.tokens[-1])
        trip.outcome = "ok"

    # The end before its time

    def _fail(self, trip: Trip) -> None:
        self._leave(trip, "error")

    def _gone(self, trip: Trip, outcome: str) -> None:
        """Nobody waits any more, and nobody is told."""
        trip.outcome, trip.ended = outcome, self.loop.now

    def _leave(self, trip: Trip, outcome: str) -> None:
        """Nobody waits for it any more: client, deadline or failure. Nothing to do once it streams."""
        if not trip.alive or trip.tokens:
            return
        self._gone(trip, outcome)
        if self._waits_for_room.pop(trip.number, None) or trip.decode >= 0:
            self._off_decode(trip)
        if trip.prefill < 0:
            return
        if trip.published:
            self.handoff.release(trip, "cancelled")
        elif self.setup.prefill.honours_aborts:
            worker = self.prefill[trip.prefill]
            if job := worker.drop(trip):
                trip.spent("prefill_queue", worker.name, job.came, self.loop.now, job.attempt)

    def _off_decode(self, trip: Trip) -> None:
        worker = self.decode[trip.decode]
        if not (stream := worker.forget(trip)):
            return
        waiting = not stream.kv
        if waiting and self.mode is not Mode.COLOCATED:
            trip.spent("decode_queue", worker.name, stream.came, self.loop.now)
        if self.mode is Mode.COLOCATED and stream.began < 0:
            trip.spent("prefill_queue", worker.name, stream.came, self.loop.now)
