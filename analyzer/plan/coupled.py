"""Workers on one clock: for layouts whose workers influence each other.

A heap of events in order of time. Between events a worker is left alone; it is woken at the start of the
step that will emit something, so nothing that it emits comes as a surprise to the others.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf, nextafter

import numpy as np

from analyzer.plan import stopping
from analyzer.plan.gather import gather
from analyzer.plan.instance import Instance, Role
from analyzer.plan.layout import Colocated, Layout, Pool, Routing, Settings, WorkerLoss
from analyzer.plan.outcome import End, Run
from analyzer.plan.workload import Workload


def run_coupled(workload: Workload, layout: Layout, settings: Settings) -> Run:
    """Simulate `layout` on one clock; `settings` must have been checked against it."""
    return _Clock(workload, layout, settings).run()


@dataclass(slots=True)
class _Worker:
    """A slot of a pool: the instance in it now, what it has to do, and what it has left behind."""

    number: int
    pool: Pool
    instance: Instance
    alive: bool = True
    back_s: float = inf
    version: int = 0
    load: int = 0  # requests it holds; on prefill, their uncached tokens
    kv_free: float = inf  # on decode, unreserved KV tokens
    holds: set[int] = field(default_factory=set)
    queue: deque[int] = field(default_factory=deque)  # on decode, hand-offs waiting for KV room
    seen: list[int] = field(default_factory=lambda: [0, 0])  # events read: prefilled, finished
    retired: list[Instance] = field(default_factory=list)


class _Clock:
    """The state of one simulation; `_at` schedules, each `_on_…` handles one kind of event."""

    def __init__(self, workload: Workload, layout: Layout, settings: Settings) -> None:
        self.workload, self.layout, self.settings = workload, layout, settings
        self.now = 0.0
        self.serial = 0
        self.heap: list[tuple[float, int, Callable[..., None], tuple[int, ...]]] = []
        n = len(workload)
        self.end = np.full(n, End.STUCK, np.int8)
        self.first, self.last = np.full(n, np.nan), np.full(n, np.nan)
        self.attempt = [0] * n
        self.ticket = [0] * n  # a transfer is void when the request's ticket has moved on
        self.prefilled_at = [0.0] * n
        self.source: list[_Worker | None] = [None] * n  # who holds the prompt's KV until it has arrived
        self.target: list[_Worker | None] = [None] * n  # where its KV goes or its decode runs
        self.turn = dict.fromkeys(Pool, 0)
        self.limited = settings.kv_tokens != inf
        if isinstance(layout, Colocated):
            self.entry, sizes = Pool.COLOCATED, {Pool.COLOCATED: (layout.workers, layout.chunk)}
        else:
            self.entry = Pool.PREFILL
            sizes = {Pool.PREFILL: (layout.prefill, layout.prefill_budget), Pool.DECODE: (layout.decode, 0)}
        self.budget = {pool: budget for pool, (_, budget) in sizes.items()}
        self.workers: list[_Worker] = []
        self.pools = {pool: [self._worker(pool) for _ in range(count)] for pool, (count, _) in sizes.items()}

    def _worker(self, pool: Pool) -> _Worker:
        worker = _Worker(len(self.workers), pool, self._instance(pool), kv_free=self.settings.kv_tokens)
        self.workers.append(worker)
        return worker

    def _instance(self, pool: Pool) -> Instance:
        s = self.settings
        kv = inf if pool is Pool.DECODE else s.kv_tokens  # decode KV is reserved here, before the hand-off
        budget = self.budget[pool]
        return Instance(Role(pool.value), s.model, self.workload, budget, s.max_seqs, kv, s.exact)

    def run(self) -> Run:
        for number, loss in enumerate(self.settings.losses):
            self._at(loss.at_s, self._on_loss, number)
            if loss.back_s != inf:
                self._at(loss.back_s, self._on_back, number)
        for request, at in enumerate(self.workload.arrival_s):
            self._at(at, self._on_arrival, request)
        while self.heap:
            stopping.check()
            for _ in range(stopping.OFTEN):
                if not self.heap:
                    break
                self.now, _, handle, args = heappop(self.heap)
                handle(*args)
        pools = {
            pool: [i for w in workers for i in (*w.retired, *([w.instance] if w.alive else []))]
            for pool, workers in self.pools.items()
        }
        attempts = np.array(self.attempt, np.int32) + 1
        return gather(self.workload, self.layout, self.first, self.end, pools, self.last, attempts)

    def _at(self, at: float, handle: Callable[..., None], *args: int) -> None:
        self.serial += 1
        heappush(self.heap, (max(at, self.now), self.serial, handle, args))

    # Routing

    def _pick(self, pool: Pool) -> _Worker | None:
        """The worker of `pool` that is next, or least loaded; None when none is alive."""
        workers = self.pools[pool]
        if self.settings.routing is Routing.LEAST_LOADED:
            alive = [worker for worker in workers if worker.alive]
            return min(alive, key=lambda worker: worker.load, default=None)
        for _ in workers:
            worker = workers[self.turn[pool] % len(workers)]
            self.turn[pool] += 1
            if worker.alive:
                return worker
        return None

    def _fits(self, request: int) -> bool:
        tokens = self.workload.prompt[request] + self.workload.output[request]
        return tokens <= self.settings.kv_tokens

    def _on_arrival(self, request: int) -> None:
        if not self._fits(request):
            self.end[request] = End.TOO_LARGE
            return
        worker = self._pick(self.entry)
        if worker is None:
            self._wait_for(self.entry, self._on_arrival, request)
            return
        load = 1
        if worker.pool is Pool.PREFILL:
            load = self.workload.prompt[request] - self.workload.cached[request]
        self.source[request] = worker
        self._give(worker, request, load)

    def _wait_for(self, pool: Pool, handle: Callable[..., None], request: int) -> None:
        """Try again when the first worker of `pool` is back; without one the request is lost."""
        back = min(worker.back_s for worker in self.pools[pool])
        if back == inf:
            self._fail(request, End.WORKER_LOST)
        else:
            self._at(back, handle, request)

    def _give(self, worker: _Worker, request: int, load: int) -> None:
        worker.holds.add(request)
        worker.load += load
        self._run_to(worker, self.now)
        worker.instance.inject(self.now, request)
        self._schedule(worker)

    # Workers

    def _run_to(self, worker: _Worker, until: float) -> None:
        """Advance a worker and schedule what it emitted."""
        instance = worker.instance
        instance.advance(until)
        handlers = (self._on_prefilled, self._on_finished)
        for k, events in enumerate((instance.prefilled, instance.finished)):
            for at, request in events[worker.seen[k] :]:
                self._at(at, handlers[k], request, self.attempt[request])
            worker.seen[k] = len(events)

    def _schedule(self, worker: _Worker) -> None:
        worker.version += 1
        at = worker.instance.wake_at()
        if at != inf:
            self._at(at, self._on_wake, worker.number, worker.version)

    def _on_wake(self, number: int, version: int) -> None:
        worker = self.workers[number]
        if version == worker.version and worker.alive:
            self._run_to(worker, nextafter(self.now, inf))
            self._schedule(worker)

    # Progress of a request

    def _on_prefilled(self, request: int, attempt: int) -> None:
        worker = self.source[request]
        if attempt != self.attempt[request] or worker is None:
            return
        if worker.pool is Pool.COLOCATED:
            self._first_token(request)
            return
        worker.load -= self.workload.prompt[request] - self.workload.cached[request]
        self.prefilled_at[request] = self.now
        if self.settings.lease_s != inf:
            self._at(self.now + self.settings.lease_s, self._on_lease, request, attempt)
        if self.limited or self.settings.losses:
            self._hand_off(request)
        else:
            self._transfer(request)

    def _first_token(self, request: int) -> None:
        if np.isnan(self.first[request]):  # a retried request's client has seen its first token already
            self.first[request] = self.now

    def _hand_off(self, request: int) -> None:
        """Choose a decode worker, and transfer when it has KV room."""
        if self.source[request] is None:
            return
        worker = self._pick(Pool.DECODE)
        if worker is None:
            self._wait_for(Pool.DECODE, self._hand_off, request)
            return
        self.target[request] = worker
        worker.load += 1
        worker.queue.append(request)
        self._serve(worker)

    def _serve(self, worker: _Worker) -> None:
        """Reserve KV for the hand-offs at the head of a decode worker's queue."""
        while worker.queue:
            request = worker.queue[0]
            need = self.workload.prompt[request] + self.workload.output[request]
            if need > worker.kv_free:
                return
            worker.kv_free -= need
            worker.queue.popleft()
            self._transfer(request)

    def _transfer(self, request: int) -> None:
        """Schedule the arrival of the KV; overlapped only if nothing held the transfer back."""
        transfer, prompt = self.settings.transfer, self.workload.prompt[request]
        if self.now > self.prefilled_at[request]:
            seconds = transfer.overhead_s + transfer.wire_s(prompt)
        else:
            uncached = prompt - self.workload.cached[request]
            seconds = transfer.exposed_s(prompt, uncached * self.settings.model.compute_s_per_token)
        self.ticket[request] += 1
        self._at(self.now + seconds, self._on_kv, request, self.ticket[request])

    def _on_kv(self, request: int, ticket: int) -> None:
        if ticket != self.ticket[request]:
            return
        worker = self.target[request]
        if worker is None:
            worker = self.target[request] = self._pick(Pool.DECODE)
            assert worker is not None  # without losses every worker lives
            worker.load += 1
        self._let_go(request)
        self._first_token(request)
        if self.workload.output[request] == 1:
            self._on_finished(request, self.attempt[request])
        else:
            self._give(worker, request, 0)

    def _let_go(self, request: int) -> None:
        """Free the prompt's KV on its prefill worker."""
        worker = self.source[request]
        self.source[request] = None
        if worker is None or not worker.alive or request not in worker.holds:
            return
        worker.holds.discard(request)
        self._run_to(worker, self.now)
        worker.instance.release(self.now, self.workload.prompt[request])
        self._schedule(worker)

    def _on_finished(self, request: int, attempt: int) -> None:
        if attempt != self.attempt[request] or self.end[request] != End.STUCK:
            return
        self.last[request] = self.now
        self.end[request] = End.OK
        worker = self.source[request] if self.entry is Pool.COLOCATED else self.target[request]
        if worker is not None:
            self._free(worker, request)

    def _free(self, worker: _Worker, request: int) -> None:
        """Take a request off the worker that decodes it, or that was to."""
        worker.holds.discard(request)
        worker.load -= 1
        if worker.pool is not Pool.DECODE:
            return
        if request in worker.queue:
            worker.queue.remove(request)
        elif self.limited:
            worker.kv_free += self.workload.prompt[request] + self.workload.output[request]
        self._serve(worker)

    # What goes wrong

    def _on_lease(self, request: int, attempt: int) -> None:
        if attempt == self.attempt[request] and self.source[request] is not None:
            target, self.target[request] = self.target[request], None
            self._let_go(request)
            if target is not None:
                self._free(target, request)
            self._retry(request, End.LEASE)

    def _retry(self, request: int, why: End) -> None:
        self.ticket[request] += 1
        self.source[request] = self.target[request] = None
        if self.attempt[request] >= self.settings.retries:
            self._fail(request, why)
            return
        self.attempt[request] += 1
        self._at(self.now + self.settings.retry_after_s, self._on_arrival, request)

    def _fail(self, request: int, why: End) -> None:
        self.end[request] = why
        self.ticket[request] += 1
        self._let_go(request)

    def _lost(self, number: int) -> tuple[WorkerLoss, _Worker]:
        loss = self.settings.losses[number]
        return loss, self.pools[loss.pool][loss.worker]

    def _on_loss(self, number: int) -> None:
        loss, worker = self._lost(number)
        if not worker.alive:
            worker.back_s = max(worker.back_s, loss.back_s)
            return
        self._run_to(worker, self.now)
        worker.alive, worker.back_s = False, loss.back_s
        worker.retired.append(worker.instance)
        held, worker.holds = sorted(worker.holds), set()
        worker.load, worker.queue, worker.kv_free = 0, deque(), self.settings.kv_tokens
        aimed = [i for i, to in enumerate(self.target) if to is worker and self.source[i] is not None]
        for request in held:
            self._drop(request, worker)
        for request in aimed:  # the prompt's KV is still on its prefill worker
            self.ticket[request] += 1
            self.target[request] = None
            self._hand_off(request)

    def _drop(self, request: int, worker: _Worker) -> None:
        """A request whose KV died with `worker`."""
        if self.end[request] != End.STUCK:
            return
        target = self.target[request]
        if target is not None and target is not worker:
            self._free(target, request)
        self._retry(request, End.WORKER_LOST)

    def _on_back(self, number: int) -> None:
        loss, worker = self._lost(number)
        if worker.alive or loss.back_s < worker.back_s:
            return
        worker.instance = self._instance(worker.pool)
        worker.instance.t = self.now
        worker.seen = [0, 0]
        worker.alive, worker.back_s = True, inf
