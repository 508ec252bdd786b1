"""A deployment in motion: requests from the router through prefill, hand-over and decode to their end.

A discrete-event model with four queues that can hold a request (router, prefill, hand-over, decode) and
the feedback between them: unread KV fills prefill's cache, decode's allocation gates prefill (prealloc),
late attempts come again.
"""

from __future__ import annotations

from dataclasses import dataclass

from .decode import DecodeCalls, DecodeWorker
from .handover import Handover
from .life import Life, Release
from .loop import Loop
from .prefill import Job, PrefillWorker
from .spec import Mode, Spec, ns
from .stream import send_out
from .workload import asks

ROUTER = "router-0"


@dataclass(frozen=True)
class Run:
    """A scenario that was played: every request's record, every worker's log. Times: ns from its start."""

    spec: Spec
    lives: list[Life]
    prefill: list[PrefillWorker]
    decode: list[DecodeWorker]
    handover: Handover
    end: int


def play(spec: Spec) -> Run:
    """Play a scenario to its end. The same spec gives the same run, byte for byte."""
    return Deployment(spec).play()


class Deployment:
    """The router and its pools."""

    def __init__(self, spec: Spec) -> None:
        self.spec, self.loop = spec, Loop()
        self.lives = [Life(ask) for ask in asks(spec)]
        calls = DecodeCalls(self._allocated, self._joined, self._prompt_computed, self._finished)
        colocated = spec.mode is Mode.COLOCATED
        kind = "colocated" if colocated else "decode"
        self.prefill = [
            PrefillWorker(self.loop, i, spec.prefill, self._computed)
            for i in range(0 if colocated else spec.prefill.workers)
        ]
        self.decode = [
            DecodeWorker(self.loop, i, spec.decode, calls, f"{kind}-{i}") for i in range(spec.decode.workers)
        ]
        self.handover = Handover(
            self.loop, spec, self.prefill, self.decode, lambda life: self._leave(life, "error")
        )
        self._router_free = 0
        self._jobs: dict[int, Job] = {}  # the current attempt's job, by request
        self._outstanding = [0] * spec.decode.workers  # requests sent to each decode worker and not ended
        self._early: set[int] = set()  # prealloc: tokenised before decode had allocated

    def play(self) -> Run:
        """Let every request arrive and everything that follows happen."""
        for life in self.lives:
            self.loop.at(life.ask.arrival, self._arrive, life)
        self.loop.run()
        send_out(self.spec, self.lives)
        end = max(self.loop.now, max(life.ended or 0 for life in self.lives))
        return Run(self.spec, self.lives, self.prefill, self.decode, self.handover, end)

    # router

    def _arrive(self, life: Life) -> None:
        router, now = self.spec.router, self.loop.now
        done = max(now, self._router_free) + ns(router.service_s + router.service_token_s * life.ask.prompt)
        self._router_free = done
        self.loop.at(done, self._handled, life)
        self.loop.at(now + ns(router.deadline_s), self._leave, life, "timeout")
        if life.ask.leaves_after is not None:
            self.loop.at(now + life.ask.leaves_after, self._leave, life, "cancelled")

    def _handled(self, life: Life) -> None:
        if not life.alive:
            return
        now = self.loop.now
        life.spent("router_queue", life.ask.arrival, now, ROUTER)
        if self.spec.router.tokenize_at_router:
            self.loop.at(now + self._tokenizing(life), self._tokenized_at_router, life, now)
        else:
            self._dispatch(life)

    def _tokenizing(self, life: Life) -> int:
        return ns(0.0002 + self.spec.router.tokenize_token_s * life.ask.prompt)

    def _tokenized_at_router(self, life: Life, since: int) -> None:
        if life.alive:
            life.spent("tokenize", since, self.loop.now, ROUTER)
            self._dispatch(life)

    def _dispatch(self, life: Life) -> None:
        now, timeout = self.loop.now, self.spec.router.attempt_timeout_s
        life.dispatches.append(now)
        if self.spec.mode is Mode.COLOCATED:
            self._to_decode(life)
        else:
            self._choose_prefill(life)
            if self.spec.mode is Mode.PARALLEL and life.decode < 0:
                self._choose_decode(life)
                life.decode_has_it = now
            elif self.spec.mode is Mode.PREALLOC and life.attempt == 1:
                self._to_decode(life)
            self._jobs[life.ask.index] = Job(life, life.attempt, now)
        wait = 0 if self.spec.router.tokenize_at_router else self._tokenizing(life)
        self.loop.at(now + wait, self._at_worker, life, life.attempt, now)
        if timeout is not None and life.attempt < self.spec.router.attempts_max:
            self.loop.at(now + ns(timeout), self._again, life, life.attempt)

    def _choose_prefill(self, life: Life) -> None:
        spec, n = self.spec.prefill, len(self.prefill)
        others = [w for w in self.prefill if w.number != life.prefill] or self.prefill
        best = min(others, key=lambda w: (w.backlog_tokens, (w.number - life.ask.index) % n))
        hot = life.attempt == 1 and life.ask.draws.prefill_route < spec.hot_share
        worker = self.prefill[0] if hot else best
        life.prefill = worker.number
        worker.backlog_tokens += life.ask.prompt - life.ask.cached

    def _choose_decode(self, life: Life) -> None:
        n = len(self.decode)
        best = min(range(n), key=lambda i: (self._outstanding[i], (i - life.ask.index) % n))
        life.decode = 0 if life.ask.draws.decode_route < self.spec.decode.hot_share else best
        self._outstanding[life.decode] += 1

    def _again(self, life: Life, attempt: int) -> None:
        """The router gave this attempt too little time: dispatch the same request once more."""
        if life.alive and life.attempt == attempt and not life.kv_held and life.published is None:
            if self.spec.prefill.honours_aborts:
                self._take_back(life)
            life.attempt += 1
            self._dispatch(life)

    # prefill

    def _at_worker(self, life: Life, attempt: int, dispatched: int) -> None:
        colocated = self.spec.mode is Mode.COLOCATED
        pool = self.decode[life.decode] if colocated else self.prefill[life.prefill]
        job = None if colocated else self._jobs[life.ask.index]
        if not life.alive or (job is not None and job.attempt != attempt):
            self._never_arrived(life)
            return
        if not self.spec.router.tokenize_at_router:
            life.spent("tokenize", dispatched, self.loop.now, pool.name)
        life.came_to_prefill = self.loop.now
        if colocated:
            self.decode[life.decode].offer(life)
        elif job is not None:
            job.came = self.loop.now
            if self.spec.mode is Mode.PREALLOC and life.allocated is None:
                self._early.add(life.ask.index)
                self.prefill[life.prefill].not_ready += 1
            else:
                self.prefill[life.prefill].take(job)

    def _never_arrived(self, life: Life) -> None:
        """Dispatched to a worker that would have worked for it, had it come in time."""
        if self.prefill and not life.orphan and not self.spec.prefill.honours_aborts:
            self.prefill[life.prefill].backlog_tokens -= life.ask.prompt - life.ask.cached

    def _computed(self, worker: PrefillWorker, job: Job, start: int, end: int) -> None:
        life = job.life
        worker.backlog_tokens -= life.ask.prompt - life.ask.cached
        current, life.attempt = life.attempt, job.attempt
        life.spent("prefill_queue", job.came, start, worker.name)
        life.spent("prefill_compute", start, end, worker.name)
        life.attempt = current
        if job.aborted or job.attempt != current or not life.alive:
            worker.release(life.ask.prompt, pinned=False)
        elif self._attempt_fails(life):
            worker.release(life.ask.prompt, pinned=False)
            life.attempt += 1
            self._dispatch(life)
        else:
            worker.pin(life.ask.prompt)
            life.kv_held = True
            self.loop.at(end + ns(self.spec.cache.offer_s), self._offered, life, end)

    def _attempt_fails(self, life: Life) -> bool:
        drawn = (life.ask.draws.attempt_failure + 0.618034 * (life.attempt - 1)) % 1.0
        return drawn < self.spec.router.attempt_failure and life.attempt < self.spec.router.attempts_max

    def _offered(self, life: Life, since: int) -> None:
        cache = self.spec.cache
        name = self.prefill[life.prefill].name
        size = life.ask.prompt * cache.bytes_per_token
        expires = self.loop.now + ns(cache.lease_s)
        life.spent(
            "kv_publish",
            since,
            self.loop.now,
            name,
            tokens=life.ask.prompt,
            bytes=size,
            lease_expires=expires,
        )
        self.handover.publish(life)
        if not life.alive:
            self.handover.release(life, "cancelled")
        elif life.ask.draws.orphan < cache.orphan_share:
            life.orphan = "leaked" if cache.orphan_leaks else "unclaimed"
            self._leave(life, cache.orphan_outcome)
        elif self.spec.mode is Mode.SEQUENTIAL:
            self.loop.at(self.loop.now + ns(self.spec.router.handover_s), self._handed_over, life)
        elif self.spec.mode is Mode.PARALLEL:
            self.decode[life.decode].offer(life)
        else:
            self.handover.start(life)

    # decode

    def _handed_over(self, life: Life) -> None:
        if life.alive:
            self._to_decode(life)

    def _to_decode(self, life: Life) -> None:
        self._choose_decode(life)
        life.decode_has_it = self.loop.now
        if self.spec.mode is not Mode.COLOCATED:
            self.decode[life.decode].offer(life)

    def _allocated(self, life: Life) -> None:
        worker, now = self.decode[life.decode], self.loop.now
        if self.spec.mode is Mode.COLOCATED:
            worker.compute_prompt(life, life.ask.prompt - life.ask.cached)
            return
        since = life.decode_has_it if life.decode_has_it is not None else now
        size = life.ask.prompt * self.spec.cache.bytes_per_token
        life.spent("decode_queue", since, now, worker.name, tokens=life.ask.prompt, bytes=size)
        if self.spec.mode is not Mode.PREALLOC:
            self.handover.start(life)
        elif life.ask.draws.reserved < self.spec.cache.reserved_share:
            life.orphan = "reserved"
            self._leave(life, "cancelled")
            self.loop.at(now + ns(self.spec.cache.reservation_s), self._reservation_over, life)
        elif life.ask.index in self._early:
            self._early.discard(life.ask.index)
            self.prefill[life.prefill].not_ready -= 1
            self.prefill[life.prefill].take(self._jobs[life.ask.index])

    def _reservation_over(self, life: Life) -> None:
        worker = self.decode[life.decode]
        life.releases.append(Release(self.loop.now, worker.name, life.attempt, "aborted"))
        worker.drop(life)

    def _joined(self, life: Life) -> None:
        worker, now = self.decode[life.decode], self.loop.now
        if life.preempted and life.preempted[-1][1] < 0:
            life.preempted[-1] = (life.preempted[-1][0], now)
        elif life.visible is not None:
            life.joined = now
            life.spent("kv_import", life.visible, now, worker.name)

    def _prompt_computed(self, life: Life, began: int) -> None:
        worker, now = self.decode[life.decode], self.loop.now
        if life.failed_load is not None:
            life.spent("decode_queue", life.failed_load, began, worker.name)
            life.spent("first_decode_step", began, now, worker.name)
        elif life.came_to_prefill is not None:
            life.spent("prefill_queue", life.came_to_prefill, began, worker.name)
            life.spent("prefill_compute", began, now, worker.name)

    def _finished(self, life: Life) -> None:
        worker = self.decode[life.decode]
        self._outstanding[life.decode] -= 1
        if life.sampled_first is None or life.sampled_last is None:
            raise RuntimeError(f"request {life.ask.index} finished without a token")
        if life.joined is not None:
            life.spent("first_decode_step", life.joined, life.sampled_first, worker.name)
        life.spent("decode", life.sampled_first, life.sampled_last, worker.name)
        life.end("ok", life.sampled_last)

    # the end before its time

    def _leave(self, life: Life, outcome: str) -> None:
        """Nobody waits for it any more: client, deadline or failure. Nothing to do once it streams."""
        if not life.alive or life.sampled_first is not None:
            return
        life.end(outcome, self.loop.now)
        if not life.dispatches:
            life.spent("router_queue", life.ask.arrival, self.loop.now, ROUTER)
        if life.decode >= 0:
            self._outstanding[life.decode] -= 1
            if life.orphan != "reserved":
                self._leave_decode(life)
        if self.spec.mode is Mode.COLOCATED or life.prefill < 0:
            return
        if not life.orphan and life.published is not None:
            self.handover.release(life, "cancelled")
        gated = life.ask.index in self._early  # prefill waits for decode, which has forgotten it
        if self.spec.prefill.honours_aborts or life.orphan == "reserved" or gated:
            self._take_back(life)

    def _leave_decode(self, life: Life) -> None:
        worker = self.decode[life.decode]
        if self.spec.mode is Mode.COLOCATED:
            if life.came_to_prefill is not None:
                life.spent("prefill_queue", life.came_to_prefill, self.loop.now, worker.name)
        elif life.decode_has_it is not None and life.allocated is None:
            life.spent("decode_queue", life.decode_has_it, self.loop.now, worker.name)
        worker.drop(life)

    def _take_back(self, life: Life) -> None:
        """Abort the current attempt on prefill; one the device has not seen closes its queue time."""
        worker, job = self.prefill[life.prefill], self._jobs.get(life.ask.index)
        if life.ask.index in self._early:
            self._early.discard(life.ask.index)
            worker.not_ready -= 1
        if job is None or not job.scheduled:
            worker.backlog_tokens -= life.ask.prompt - life.ask.cached
            if life.came_to_prefill is not None:
                life.spent("prefill_queue", life.came_to_prefill, self.loop.now, worker.name)
        worker.abort(life, life.attempt)
