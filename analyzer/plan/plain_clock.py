"""All workers on one clock, one step at a time, in plain Python: what receipts are verified with.

For workers that influence each other, by least-loaded routing, KV that runs out, leases, retries or a lost
worker; plain_loop takes the others one by one. Shares no code with the simulator, on purpose.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf

from analyzer.plan.plain_loop import Constants, Row, Trail

FIRST, THEN = 0, 1
"""What happens at an instant happens before the steps that start at it."""


@dataclass(frozen=True)
class Rules:
    """What ties workers together. `kv_tokens` per worker, inf: no limit.

    `lost`: (pool, at_s), its first worker is lost for good.
    """

    least_loaded: bool = False
    kv_tokens: float = inf
    lease_s: float = inf
    retries: int = 0
    retry_after_s: float = 0.0
    lost: tuple[str, float] | None = None


@dataclass
class Worker:
    """One instance: what waits, what runs, how much KV is free."""

    role: str
    budget: int
    kv_free: float
    kv_hand_off: float
    alive: bool = True
    stepping: bool = False
    load: int = 0
    context: int = 0
    step: int = 0
    decodes: list[tuple[int, int]] = field(default_factory=list)
    prompts: deque[list[int]] = field(default_factory=deque)
    seats: deque[int] = field(default_factory=deque)
    holds: set[int] = field(default_factory=set)
    room_for: deque[int] = field(default_factory=deque)  # hand-offs that wait for KV room here


def run(rows: list[Row], sizes: dict[str, tuple[int, int]], c: Constants, rules: Rules) -> Trail:
    """`sizes`: (workers, step budget) of the pool `colocated`, or of `prefill` and `decode`."""
    return _Clock(rows, sizes, c, rules).run()


class _Clock:
    def __init__(self, rows: list[Row], sizes: dict[str, tuple[int, int]], c: Constants, rules: Rules):
        self.rows, self.c, self.rules = rows, c, rules
        self.trail = Trail()
        self.now, self.serial = 0.0, 0
        self.heap: list[tuple[float, int, int, Callable[..., None], tuple[object, ...]]] = []
        room = rules.kv_tokens
        self.pools = {
            role: [Worker(role, budget, inf if role == "decode" else room, room) for _ in range(count)]
            for role, (count, budget) in sizes.items()
        }
        self.entry = "prefill" if "prefill" in sizes else "colocated"
        self.turns = dict.fromkeys(sizes, 0)
        self.source: dict[int, Worker] = {}
        self.target: dict[int, Worker] = {}
        self.ended = dict.fromkeys(range(len(rows)), 0.0)  # when its prompt was computed
        self.tries = [0] * len(rows)
        self.sent = [0] * len(rows)  # a transfer that was called off has an older number
        self.early = rules.kv_tokens != inf or rules.lost is not None

    def run(self) -> Trail:
        if self.rules.lost is not None:
            pool, at = self.rules.lost
            self.at(at, self.lose, self.pools[pool][0])
        for request, row in enumerate(self.rows):
            self.at(row[0], self.arrive, request)
        while self.heap:
            self.now, _, _, what, given = heappop(self.heap)
            what(*given)
        for request in range(len(self.rows)):
            if request not in self.trail.last:
                self.trail.failed.setdefault(request, "stuck")
        return self.trail

    def at(self, when: float, what: Callable[..., None], *given: object, rank: int = FIRST) -> None:
        self.serial += 1
        heappush(self.heap, (when, rank, self.serial, what, given))

    def pick(self, pool: str) -> Worker:
        """The next living worker in turn, or the one with the least to do."""
        workers = self.pools[pool]
        if self.rules.least_loaded:
            return min((w for w in workers if w.alive), key=lambda w: w.load)
        while True:
            worker = workers[self.turns[pool] % len(workers)]
            self.turns[pool] += 1
            if worker.alive:
                return worker

    def size(self, request: int) -> int:
        return self.rows[request][1] + self.rows[request][2]

    # A request's way

    def arrive(self, request: int) -> None:
        if self.size(request) > self.rules.kv_tokens:
            self.trail.failed[request] = "too_large"
            return
        worker = self.source[request] = self.pick(self.entry)
        _, prompt, _, cached = self.rows[request]
        worker.load += prompt - cached if worker.role == "prefill" else 1
        worker.holds.add(request)
        worker.prompts.append([request, prompt - cached, 0])
        self.wake(worker)

    def prefilled(self, worker: Worker, request: int) -> None:
        if worker.role == "colocated":
            self.trail.first.setdefault(request, self.now)
            self.join(worker, request)
            return
        _, prompt, _, cached = self.rows[request]
        worker.load -= prompt - cached
        self.ended[request] = self.now
        if self.rules.lease_s != inf:
            self.at(self.now + self.rules.lease_s, self.lease_ends, request, self.tries[request])
        if self.early:
            self.hand_off(request)
        else:
            self.transfer(request)

    def hand_off(self, request: int) -> None:
        worker = self.target[request] = self.pick("decode")
        worker.load += 1
        worker.room_for.append(request)
        self.make_room(worker)

    def make_room(self, worker: Worker) -> None:
        while worker.room_for and self.size(worker.room_for[0]) <= worker.kv_hand_off:
            request = worker.room_for.popleft()
            worker.kv_hand_off -= self.size(request)
            self.transfer(request)

    def transfer(self, request: int) -> None:
        _, prompt, _, cached = self.rows[request]
        exposed = wire = prompt * self.c.wire_s
        if self.c.overlap and self.now == self.ended[request]:
            layers = self.c.layers
            compute = (prompt - cached) * self.c.compute_s
            exposed = max(wire / layers, wire - compute * (layers - 1) / layers)
        self.sent[request] += 1
        self.at(self.now + self.c.hand_off_s + exposed, self.kv_is_there, request, self.sent[request])

    def kv_is_there(self, request: int, sent: int) -> None:
        if sent != self.sent[request]:
            return
        if request not in self.target:
            self.target[request] = self.pick("decode")
            self.target[request].load += 1
        worker = self.target[request]
        self.let_go(request)
        self.trail.first.setdefault(request, self.now)
        if self.rows[request][2] == 1:
            self.finish(worker, request)
            return
        worker.holds.add(request)
        worker.seats.append(request)
        self.wake(worker)

    def let_go(self, request: int) -> None:
        """The prompt's KV is read, or given up: its prefill worker has the room again."""
        worker = self.source.pop(request, None)
        if worker is not None and worker.alive:
            worker.holds.discard(request)
            worker.kv_free += self.rows[request][1]
            self.wake(worker)

    def finish(self, worker: Worker, request: int) -> None:
        self.trail.last[request] = self.now
        if worker.role == "colocated":
            worker.holds.discard(request)
            worker.load -= 1
            worker.kv_free += self.size(request)
        else:
            self.leave(worker, request)

    def leave(self, worker: Worker, request: int) -> None:
        """Off the decode worker where it ran, or was to run."""
        worker.holds.discard(request)
        worker.load -= 1
        if request in worker.room_for:
            worker.room_for.remove(request)
        else:
            worker.kv_hand_off += self.size(request)
        self.make_room(worker)

    # What goes wrong

    def lease_ends(self, request: int, tries: int) -> None:
        if tries != self.tries[request] or request not in self.source:
            return
        self.let_go(request)
        if (target := self.target.pop(request, None)) is not None:
            self.leave(target, request)
        self.again(request, "lease")

    def again(self, request: int, why: str) -> None:
        self.sent[request] += 1
        self.source.pop(request, None)
        self.target.pop(request, None)
        if self.tries[request] == self.rules.retries:
            self.trail.failed[request] = why
            return
        self.tries[request] += 1
        self.trail.retried.add(request)
        self.at(self.now + self.rules.retry_after_s, self.arrive, request)

    def lose(self, worker: Worker) -> None:
        worker.alive = False
        held = sorted(worker.holds)
        on_the_way = sorted(i for i, to in self.target.items() if to is worker and i in self.source)
        for request in held:
            target = self.target.get(request)
            if target is not None and target is not worker:
                self.leave(target, request)
            self.again(request, "worker_lost")
        for request in on_the_way:  # their KV is still on prefill
            self.sent[request] += 1
            del self.target[request]
            self.hand_off(request)

    # Steps of a worker

    def wake(self, worker: Worker) -> None:
        if worker.alive and not worker.stepping:
            worker.stepping = True
            self.at(self.now, self.step_starts, worker, rank=THEN)

    def join(self, worker: Worker, request: int) -> None:
        if self.rows[request][2] == 1:
            self.finish(worker, request)
        else:
            worker.context += self.rows[request][1]
            heappush(worker.decodes, (worker.step + self.rows[request][2] - 1, request))

    def step_starts(self, worker: Worker) -> None:
        worker.stepping = False
        if not worker.alive:
            return
        c = self.c
        while worker.seats and len(worker.decodes) < c.max_seqs:
            self.join(worker, worker.seats.popleft())
        batch = len(worker.decodes)
        room, read, tokens, done = worker.budget - batch, worker.context, batch, 0
        for entry in worker.prompts:
            request, left, begun = entry
            if room <= 0 or batch + done >= c.max_seqs:
                break
            if not begun:
                need = self.size(request) if worker.role == "colocated" else self.rows[request][1]
                if need > worker.kv_free:
                    break
                worker.kv_free -= need
            take = min(room, left)
            room -= take
            tokens += take
            entry[1:] = [left - take, 1]
            if entry[1]:
                read += self.rows[request][1] - left
            else:
                done += 1
        if tokens:
            seconds = max(c.weights_s + c.context_s * read, c.compute_s * tokens) + c.overhead_s
            if batch:
                self.trail.steps.append((self.now, seconds, batch))
            worker.stepping = True
            self.at(self.now + seconds, self.step_ends, worker, batch, done)

    def step_ends(self, worker: Worker, batch: int, done: int) -> None:
        if not worker.alive:
            return
        worker.stepping = False
        worker.step += 1
        worker.context += batch
        self.trail.step_count += 1
        while worker.decodes and worker.decodes[0][0] == worker.step:
            request = heappop(worker.decodes)[1]
            worker.context -= self.size(request) - (1 if self.c.exact else 0)
            self.finish(worker, request)
        for _ in range(done):
            self.prefilled(worker, worker.prompts.popleft()[0])
        self.wake(worker)
