"""A prefill worker: first come first served, in chunks, with a KV cache that holds what is not read yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from .life import Life, Load
from .loop import Loop
from .spec import Prefill, ns


@dataclass(eq=False)
class Job:
    """A prompt dispatched to a worker, under the attempt it belongs to."""

    life: Life
    attempt: int
    came: int
    scheduled: bool = False
    aborted: bool = False


class PrefillWorker:
    """Calls `on_computed(worker, job, start, end)` when a prompt leaves the device, aborted or done."""

    def __init__(
        self,
        loop: Loop,
        number: int,
        spec: Prefill,
        on_computed: Callable[[PrefillWorker, Job, int, int], None],
    ) -> None:
        self.loop, self.number, self.spec, self.on_computed = loop, number, spec, on_computed
        self.name = f"prefill-{number}"
        self.queue: deque[Job] = deque()
        self.current: Job | None = None
        self.not_ready = 0
        self.kv_used = 0
        self.pinned = 0
        self.backlog_tokens = 0  # dispatched and not computed, as the router counts them
        self.log: list[Load] = [Load(0, 0, 0, 0, 0, 0)]
        self.busy_ns = 0
        self._started = 0
        self._plan_number = 0
        self._cold = number < spec.cold_workers

    def service_s(self, life: Life) -> float:
        """Seconds to compute the uncached part of a prompt: a + b·uncached + c·uncached·total."""
        ask, spec = life.ask, self.spec
        uncached = ask.prompt - ask.cached
        spread = 1.0 + spec.noise * (2.0 * ask.draws.prefill_noise - 1.0)
        return (spec.base_s + spec.token_s * uncached + spec.quad_s * uncached * ask.prompt) * spread

    def take(self, job: Job) -> None:
        """Queue a job that may be scheduled."""
        self.queue.append(job)
        self.start_next()

    def start_next(self) -> None:
        """Schedule the head of the queue if the worker is free and its cache has room."""
        while self.current is None and self.queue:
            if self.queue[0].aborted:
                self.queue.popleft()
                continue
            job = self.queue[0]
            if self.kv_used and self.kv_used + job.life.ask.prompt > self.spec.kv_tokens:
                break
            self.queue.popleft()
            self._compute(job)
        self.note()

    def _compute(self, job: Job) -> None:
        self.current, self._started = job, self.loop.now
        job.scheduled = True
        self.kv_used += job.life.ask.prompt
        duration = self.service_s(job.life)
        if self._cold:
            duration, self._cold = duration + self.spec.warmup_s, False
        self._plan_number += 1
        self.loop.at(self.loop.now + ns(duration), self._computed, self._plan_number)

    def _computed(self, plan_number: int) -> None:
        if plan_number != self._plan_number or self.current is None:
            return
        job, self.current = self.current, None
        self.busy_ns += self.loop.now - self._started
        self.on_computed(self, job, self._started, self.loop.now)
        self.start_next()

    def abort(self, life: Life, attempt: int) -> None:
        """Drop a job: at once from the queue, at the end of its chunk from the device."""
        for job in self.queue:
            if job.life is life and job.attempt == attempt:
                job.aborted = True
        if self.current is not None and self.current.life is life and self.current.attempt == attempt:
            self.current.aborted = True
            self._plan_number += 1
            self.loop.at(self._chunk_end(life), self._computed, self._plan_number)
        self.start_next()

    def _chunk_end(self, life: Life) -> int:
        uncached = life.ask.prompt - life.ask.cached
        chunks = max(1, -(-uncached // self.spec.chunk))
        each = max(1, ns(self.service_s(life)) // chunks)
        return min(
            self._started + ns(self.service_s(life)),
            self._started + (1 + (self.loop.now - self._started) // each) * each,
        )

    def pin(self, tokens: int) -> None:
        """A prompt's KV now waits to be read."""
        self.pinned += tokens
        self.note()

    def release(self, tokens: int, pinned: bool) -> None:
        """KV is free again."""
        self.kv_used -= tokens
        if pinned:
            self.pinned -= tokens
        self.start_next()

    def note(self) -> None:
        """Log the state if it changed."""
        waiting = sum(not job.aborted for job in self.queue)
        running = int(self.current is not None)
        state = Load(self.loop.now, waiting, self.not_ready, running, self.kv_used, self.pinned)
        if state[1:] != self.log[-1][1:]:
            self.log.append(state)
