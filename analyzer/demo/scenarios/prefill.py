"""A prefill worker: prompts in order of arrival, one at a time, and a cache that must have room for each."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from analyzer.demo.scenarios.loop import Loop
from analyzer.demo.scenarios.setup import Prefill
from analyzer.demo.scenarios.trip import Trip


@dataclass
class Job:
    """A prompt to compute for one attempt."""

    trip: Trip
    attempt: int
    came: float
    dropped: bool = False


class PrefillWorker:
    """`computed(worker, job, start)` is called after each prompt, whose KV is held until `give_back`."""

    def __init__(
        self,
        loop: Loop,
        number: int,
        setup: Prefill,
        computed: Callable[["PrefillWorker", Job, float], None],
    ) -> None:
        self.loop, self.number, self.setup, self._computed = loop, number, setup, computed
        self.name = f"prefill-{number}"
        self.queue: deque[Job] = deque()
        self.kv_used = 0
        self.running: Job | None = None
        self.cold = False
        self.generation = 0
        self.sent_bytes = 0.0

    @property
    def backlog(self) -> int:
        """Prompt tokens that wait or run here."""
        running = self.running.trip.prompt if self.running else 0
        return running + sum(job.trip.prompt for job in self.queue)

    def take(self, job: Job) -> None:
        """Queue a prompt."""
        self.queue.append(job)
        self._next()

    def drop(self, trip: Trip) -> Job | None:
        """Take a waiting prompt out again; None when it is not waiting."""
        for job in self.queue:
            if job.trip is trip and not job.dropped:
                job.dropped = True
                self.queue.remove(job)
                self._next()
                return job
        return None

    def give_back(self, tokens: int) -> None:
        """Free a prompt's KV."""
        self.kv_used -= tokens
        self._next()

    def _next(self) -> None:
        if self.running or not self.queue:
            return
        job = self.queue[0]
        if self.kv_used and self.kv_used + job.trip.prompt > self.setup.kv_tokens:
            return
        self.queue.popleft()
        self.running = job
        self.kv_used += job.trip.prompt
        seconds = (self.setup.base_s + self.setup.token_s * job.trip.prompt) * (
            0.97 + 0.06 * job.trip.luck[3]
        )
        if self.cold:
            seconds, self.cold = seconds + self.setup.warm_up_s, False
        self.loop.after(seconds, self._done, job, self.loop.now)

    def _done(self, job: Job, start: float) -> None:
        self.running = None
        self._computed(self, job, start)
        self._next()
