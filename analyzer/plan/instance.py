"""One serving instance, advanced in stretches of equal steps instead of step by step.

Between two events (a prompt to compute, a sequence that joins or finishes) the steps of an instance
form an arithmetic series: each decode adds one token of context, so each step is longer than the last
by the same amount, and a run of full prompt chunks takes equal steps. A stretch is summed in closed form.
"""

from collections import deque
from enum import Enum
from heapq import heappop, heappush
from math import ceil, inf, sqrt

from analyzer.plan import stopping
from analyzer.plan.step_model import StepModel
from analyzer.plan.workload import Workload

_SLOT_BITS = 24
_SLOT_MASK = (1 << _SLOT_BITS) - 1


class Role(Enum):
    """What an instance does with a request that reaches it."""

    COLOCATED = "colocated"
    PREFILL = "prefill"
    DECODE = "decode"


class Instance:
    """A queue of requests and the batch that runs; requests are positions in a Workload.

    Feed it with `inject` in order of time, run it with `advance`, read `begun` (start of the first step a
    prompt is in), `prefilled`, `joined` (start of the first decode step) and `finished`: lists of
    (time, request), in order. `exact` drops from the context what a sequence added;
    otherwise one token more, as the reference model does.
    """

    def __init__(
        self, role: Role, model: StepModel, workload: Workload, budget: int, max_seqs: int,
        kv_tokens: float, exact: bool,
    ) -> None:  # fmt: skip
        # plain attributes: the loop below reads them millions of times
        self.colocated, self.decodes = role is Role.COLOCATED, role is Role.DECODE
        self.prompt, self.output, self.cached = workload.prompt, workload.output, workload.cached
        self.budget, self.max_seqs, self.kv_free = budget, max_seqs, kv_tokens
        self.weights_s, self.context_s = model.weights_s, model.context_s_per_token
        self.compute_s, self.overhead_s = model.compute_s_per_token, model.overhead_s
        self.seats = min(max_seqs, budget) if budget else max_seqs
        self.surplus = 1 if exact else 0
        self.t = 0.0
        self.step = 0
        self.context = 0
        self.busy_s = 0.0
        self.ready: list[float] = []
        self.arrived: list[int] = []
        self.taken = 0
        self.waiting: deque[int] = deque()
        self.left = 0  # prompt tokens the head of `waiting` still needs; 0 when it has not begun
        self.running: list[int] = []  # heap of last step << _SLOT_BITS | request
        self.begun: list[tuple[float, int]] = []
        self.prefilled: list[tuple[float, int]] = []
        self.joined: list[tuple[float, int]] = []
        self.finished: list[tuple[float, int]] = []
        self.stretches: list[float] = []  # flat rows of five: see outcome.step_percentile

    def inject(self, at: float, request: int) -> None:
        """Hand over `request` at `at`; not before the time of the last one."""
        self.ready.append(at)
        self.arrived.append(request)

    def inject_all(self, at: list[float], requests: list[int]) -> None:
        """Hand over many requests, in order of time."""
        self.ready.extend(at)
        self.arrived.extend(requests)

    def release(self, at: float, tokens: int) -> None:
        """Give back KV of a prompt that has left; an instance that stood still for it goes on at `at`."""
        self.kv_free += tokens
        if not self.running:
            self.t = max(self.t, at)

    def wake_at(self) -> float:
        """Start of the next step that may emit something if nothing more is injected; inf when idle."""
        if self.taken < len(self.ready):
            return max(self.t, self.ready[self.taken])
        if self.waiting and self.decodes and len(self.running) < self.max_seqs:
            return self.t
        if self.waiting and not self.decodes and self._can_prefill():
            if self.left <= self.budget - len(self.running):
                return self.t
            steps, seconds = self._equal_chunks()
            return self.t + max(0, steps - 1) * seconds
        if not self.running:
            return inf
        steps, first, growth = self._equal_decodes()
        before = steps - 1
        return self.t + before * (first + growth * (before - 1) / 2)

    def _need(self, request: int) -> int:
        """KV tokens kept for a request: its prompt, and where it decodes here its output too."""
        prompt = self.prompt[request]
        return prompt + self.output[request] if self.colocated else prompt

    def _can_prefill(self) -> bool:
        if self.left:
            return True  # it has its seat, and seats are no more than the budget
        if len(self.running) >= self.seats:
            return False
        return self.kv_free == inf or self._need(self.waiting[0]) <= self.kv_free

    def advance(self, until: float) -> None:
        """Run every step that starts before `until`."""
        ready, waiting, running, decode = self.ready, self.waiting, self.running, self.decodes
        taken, last = self.taken, len(self.ready)
        while True:
            for _ in range(stopping.OFTEN):
                if not running and not waiting:
                    if taken == last:
                        return
                    if ready[taken] > self.t:
                        self.t = ready[taken]
                if self.t >= until:
                    return
                while taken < last and ready[taken] <= self.t:
                    waiting.append(self.arrived[taken])
                    self.taken = taken = taken + 1
                if decode:
                    while waiting and len(running) < self.max_seqs:
                        self._join(waiting.popleft())
                elif waiting and self._can_prefill():
                    self._prefill(until)
                    continue
                if running:
                    cut = waiting or taken == last or ready[taken] > until
                    self._decode(until if cut else ready[taken])
                elif not decode:  # decode: what joined wanted one token only, and has it
                    # the head waits for KV that another worker still has to read; only arrivals pass the time
                    if taken == last or ready[taken] >= until:
                        return
                    self.t = max(self.t, ready[taken])
            stopping.check()

    def _join(self, request: int) -> None:
        """Start decoding `request`: its first token exists, output - 1 steps are left."""
        steps = self.output[request] - 1
        self.joined.append((self.t, request))
        if steps:
            self.context += self.prompt[request]
            heappush(self.running, (self.step + steps) << _SLOT_BITS | request)
            return
        self.finished.append((self.t, request))
        if self.colocated:
            self.kv_free += self.prompt[request] + 1

    def _finish(self) -> None:
        """Let every sequence leave whose last step has just ended."""
        running, bound, t = self.running, (self.step + 1) << _SLOT_BITS, self.t
        while running and running[0] < bound:
            request = heappop(running) & _SLOT_MASK
            tokens = self.prompt[request] + self.output[request]
            self.context -= tokens - self.surplus
            self.finished.append((t, request))
            if self.colocated:
                self.kv_free += tokens

    def _decode(self, until: float) -> None:
        """A stretch of steps in which only decodes run, cut by the next finish and by `until`."""
        steps, first, growth = self._equal_decodes()
        gap = until - self.t
        if steps > 1 and steps * (first + growth * (steps - 1) / 2) > gap:
            # the fewest steps that last as long as the gap; 1 where rounding says none
            b = first - growth / 2
            steps = ceil((sqrt(b * b + 2 * growth * gap) - b) / growth if growth else gap / first) or 1
        running, seconds = self.running, steps * (first + growth * (steps - 1) / 2)
        batch = len(running)
        self.stretches.extend((self.t, steps, batch, first, growth))  # as _stretch: here every call counts
        self.t += seconds
        self.busy_s += seconds
        self.step += steps
        self.context += steps * batch
        if running[0] >> _SLOT_BITS == self.step:
            self._finish()

    def _equal_decodes(self) -> tuple[int, float, float]:
        """Decode steps until the next finish, the first one's seconds, what each further one adds.

        Fewer steps where memory time overtakes compute time on the way.
        """
        batch = len(self.running)
        steps = (self.running[0] >> _SLOT_BITS) - self.step
        growth = self.context_s * batch
        memory, compute = self.weights_s + self.context_s * self.context, self.compute_s * batch
        if memory >= compute:
            return steps, memory + self.overhead_s, growth
        return min(steps, int((compute - memory) / growth) + 1), compute + self.overhead_s, 0.0

    def _stretch(self, steps: int, batch: int, first: float) -> None:
        """Account for `steps` steps of `first` seconds each with `batch` decodes."""
        if batch:
            self.stretches.extend((self.t, steps, batch, first, 0.0))
        seconds = steps * first
        self.t += seconds
        self.busy_s += seconds
        self.step += steps
        self.context += steps * batch

    def _prefill(self, until: float) -> None:
        """A step that computes prompt tokens beside the decodes, or a run of equal full-chunk steps."""
        batch = len(self.running)
        room = self.budget - batch
        cached, prompt = self.cached, self.prompt
        head = self.waiting[0]
        if not self.left:
            self.left = prompt[head] - cached[head]
            self.kv_free -= self._need(head)
            self.begun.append((self.t, head))
        if self.left > room:
            self._chunks(until)
            return
        done = [head]
        room -= self.left
        computed = self.left
        self.left = 0
        self.waiting.popleft()
        context = self.context
        while room and self.waiting and batch + len(done) < self.max_seqs:
            head = self.waiting[0]
            need = self._need(head)
            if need > self.kv_free:
                break
            self.kv_free -= need
            self.begun.append((self.t, head))
            tokens = prompt[head] - cached[head]
            if tokens > room:
                self.left = tokens - room
                context += cached[head]
                computed += room
                break
            self.waiting.popleft()
            done.append(head)
            room -= tokens
            computed += tokens
        memory, compute = self.weights_s + self.context_s * context, self.compute_s * (batch + computed)
        self._stretch(1, batch, (memory if memory > compute else compute) + self.overhead_s)
        if batch and self.running[0] >> _SLOT_BITS == self.step:
            self._finish()
        for request in done:
            self.prefilled.append((self.t, request))
            if self.colocated:
                self._join(request)

    def _chunks(self, until: float) -> None:
        """Steps filled by chunks of one prompt."""
        steps, seconds = self._equal_chunks()
        if until < inf:
            steps = max(1, min(steps, ceil((until - self.t) / seconds)))
        batch = len(self.running)
        computed = steps * (self.budget - batch)
        self._stretch(steps, batch, seconds)
        self.left -= computed
        self._finish()

    def _equal_chunks(self) -> tuple[int, float]:
        """How many full chunks of the head take the same time, and how long: compute-bound or just one."""
        batch, head = len(self.running), self.waiting[0]
        room = self.budget - batch
        steps = (self.left - 1) // room
        if self.running:
            steps = min(steps, (self.running[0] >> _SLOT_BITS) - self.step)
        context = self.context + self.prompt[head] - self.left
        compute = self.compute_s * self.budget
        if self.weights_s + self.context_s * (context + (steps - 1) * self.budget) > compute:
            steps = min(steps, 1)
        return steps, max(self.weights_s + self.context_s * context, compute) + self.overhead_s
