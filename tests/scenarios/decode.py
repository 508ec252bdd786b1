"""A decode worker: admission against slots and KV, and steps whose time grows with batch and context.

Steps between two changes of the batch are computed at once (`Steps`): k steps of a batch of B with C
tokens of context take k·(base + seq·B + ctx·C + prompt work) + ctx·B·k·(k-1)/2. Whoever becomes ready
meanwhile joins at the next step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from .life import Life, Load, Steps
from .loop import Loop
from .spec import NS, Decode, ns


@dataclass(eq=False)
class Prompt:
    """Prompt tokens computed in the worker's own steps (colocated, or recomputed after a failed hand-off)."""

    life: Life
    left: int
    began: int | None = None


@dataclass(frozen=True)
class DecodeCalls:
    """What a decode worker tells the deployment."""

    allocated: Callable[[Life], None]
    joined: Callable[[Life], None]
    prompt_computed: Callable[[Life, int], None]
    finished: Callable[[Life], None]


class DecodeWorker:
    """Times are the loop's; what happens to a request is told through `calls`."""

    def __init__(self, loop: Loop, number: int, spec: Decode, calls: DecodeCalls, name: str) -> None:
        self.loop, self.number, self.spec, self.calls, self.name = loop, number, spec, calls, name
        self.queue: deque[Life] = deque()
        self.preempted: deque[Life] = deque()
        self.running: list[Life] = []
        self.joiners: list[Life] = []
        self.prompts: deque[Prompt] = deque()
        self.slots_used = 0
        self.kv_used = 0
        self.kv_promised = 0  # growth that admission has set aside
        self.pending = 0  # allocated, not yet running
        self.preemptions: list[int] = []
        self.tokens_out: list[tuple[int, int]] = []
        self.busy_ns = 0
        self.log: list[Load] = [Load(0, 0, 0, 0, 0, 0)]
        self._steps: Steps | None = None
        self._chunk = 0
        self._chunk_of: Life | None = None
        self._plan_number = 0
        self._cold = number < spec.cold_workers
        self._held: dict[int, int] = {}  # tokens allocated to each request

    # admission

    def offer(self, life: Life) -> None:
        """The worker has the request; it waits for a slot and blocks."""
        self.queue.append(life)
        self.admit()

    def admit(self) -> None:
        """Give slots and blocks to whoever was preempted, then to the queue in order."""
        while self.preempted and self._room(self.preempted[0], resumed=True):
            life = self.preempted.popleft()
            self._allocate(life)
            back = ns(self.spec.restore_token_s * (life.ask.prompt + life.generated))
            self.loop.at(self.loop.now + back, self.ready, life)
        while self.queue and not self.preempted and self._room(self.queue[0], resumed=False):
            life = self.queue.popleft()
            self._allocate(life)
            life.allocated = self.loop.now
            self.calls.allocated(life)
        if self.pending and not self.spec.reserve_output:
            self._next_boundary()  # there is less room to grow than the running steps were planned for
        self.note()

    def _promise(self, life: Life) -> int:
        return life.ask.output - life.generated if self.spec.reserve_output else 0

    def _room(self, life: Life, resumed: bool) -> bool:
        need = life.ask.prompt + life.generated + self._promise(life)
        spare = 0 if resumed or self.spec.reserve_output else self.spec.kv_tokens // 50
        used = self.kv_used + self.kv_promised + self._grown_in_steps()
        fits = used == 0 or used + need + spare <= self.spec.kv_tokens
        return self.slots_used < self.spec.slots and fits

    def _grown_in_steps(self) -> int:
        """Tokens of steps that are done but not yet accounted for."""
        if self._steps is None or self.spec.reserve_output:
            return 0
        return len(self.running) * (self._steps.at_or_after(self.loop.now) - 1)

    def _allocate(self, life: Life) -> None:
        self.slots_used += 1
        self.pending += 1
        self._held[life.ask.index] = life.ask.prompt + life.generated
        self.kv_used += self._held[life.ask.index]
        self.kv_promised += self._promise(life)

    def free(self, life: Life) -> None:
        """Give back the slot and blocks of a request that does not run (any more)."""
        held = self._held.pop(life.ask.index, None)
        if held is not None:
            self.slots_used -= 1
            self.kv_used -= held
            self.kv_promised -= self._promise(life)

    def drop(self, life: Life) -> None:
        """Forget a request whose client left before its first step."""
        if life in self.queue:
            self.queue.remove(life)
        elif life.ask.index in self._held and life not in self.running:
            self.pending -= 1
            self.free(life)
            if life in self.joiners:
                self.joiners.remove(life)
            self.prompts = deque(prompt for prompt in self.prompts if prompt.life is not life)
        self.admit()

    # steps

    def ready(self, life: Life) -> None:
        """Its KV is usable: it joins at the next step."""
        if life.alive and life.ask.index in self._held:
            self.joiners.append(life)
            self._next_boundary()

    def compute_prompt(self, life: Life, tokens: int) -> None:
        """Its prompt has to be computed here, in the steps of everybody."""
        self.prompts.append(Prompt(life, tokens))
        self._next_boundary()

    def _next_boundary(self) -> None:
        if self._steps is None:
            self._begin()
            return
        left = self._steps.at_or_after(self.loop.now)
        if left < self._steps.tokens:
            self._run(self._steps._replace(tokens=left))

    def _run(self, steps: Steps) -> None:
        self._steps = steps
        self._plan_number += 1
        self.loop.at(steps.after(steps.tokens), self._end_of_steps, self._plan_number)

    def _begin(self) -> None:
        for life in self.joiners:
            self.pending -= 1
            self.running.append(life)
            self.calls.joined(life)
        self.joiners.clear()
        self._make_room()
        batch, prompt = len(self.running), self.prompts[0] if self.prompts else None
        if not batch and prompt is None:
            self._steps = None
            self.note()
            return
        spec = self.spec
        self._chunk = min(spec.chunk, prompt.left) if prompt else 0
        self._chunk_of = prompt.life if prompt else None
        if prompt is not None and prompt.began is None:
            prompt.began = self.loop.now
        context = sum(life.ask.prompt + life.generated for life in self.running)
        first = spec.base_s + spec.seq_s * batch + spec.ctx_s * context + spec.local_token_s * self._chunk
        if self._cold:
            first, self._cold = first + spec.warmup_s, False
            count = 1
        else:
            count = self._steps_until_change(batch, prompt)
        steps = Steps(self.loop.now, count, first * NS, spec.ctx_s * batch * NS)
        for life in self.running:
            if life.sampled_first is None:
                life.sampled_first = steps.after(1)
        self._run(steps)
        self.note()

    def _steps_until_change(self, batch: int, prompt: Prompt | None) -> int:
        counts = [life.ask.output - life.generated for life in self.running]
        if prompt is not None:
            counts.append(max(1, prompt.left // self._chunk))
        if batch and not self.spec.reserve_output:
            counts.append(max(1, (self.spec.kv_tokens - self.kv_used) // batch))
        return max(1, min(counts))

    def _make_room(self) -> None:
        """Preempt the youngest while the next step has no room to grow."""
        while (
            not self.spec.reserve_output
            and len(self.running) > 1
            and self.kv_used + len(self.running) > self.spec.kv_tokens
        ):
            life = self.running.pop()
            self.free(life)
            life.preempted.append((self.loop.now, -1))
            self.preemptions.append(self.loop.now)
            self.preempted.appendleft(life)

    def _end_of_steps(self, plan_number: int) -> None:
        if plan_number != self._plan_number or self._steps is None:
            return
        run, self._steps = self._steps, None
        self.busy_ns += self.loop.now - run.start
        if self.running:
            self.tokens_out.append((self.loop.now, run.tokens * len(self.running)))
        for life in self.running:
            self._grow(life, run)
        self._prompt_progress(run)
        for life in [life for life in self.running if life.generated >= life.ask.output]:
            self.running.remove(life)
            self.free(life)
            life.sampled_last = self.loop.now
            self.calls.finished(life)
        self.admit()
        if self._steps is None:
            self._begin()

    def _grow(self, life: Life, run: Steps) -> None:
        life.steps.append(run)
        life.generated += run.tokens
        self._held[life.ask.index] += run.tokens
        self.kv_used += run.tokens
        if self.spec.reserve_output:
            self.kv_promised -= run.tokens

    def _prompt_progress(self, run: Steps) -> None:
        if not self._chunk or not self.prompts or self.prompts[0].life is not self._chunk_of:
            return
        prompt = self.prompts[0]
        prompt.left -= min(prompt.left, run.tokens * self._chunk)
        if prompt.left == 0:
            self.prompts.popleft()
            self._first_token_of_own_prompt(prompt, run)

    def _first_token_of_own_prompt(self, prompt: Prompt, run: Steps) -> None:
        life, now = prompt.life, self.loop.now
        self.pending -= 1
        life.sampled_first = now
        self.running.append(life)
        last = Steps(run.after(run.tokens - 1) if run.tokens > 1 else run.start, 1, 0.0, 0.0)
        self._grow(life, last._replace(first=float(now - last.start)))
        self.calls.prompt_computed(life, prompt.began if prompt.began is not None else now)

    def note(self) -> None:
        """Log the state if it changed."""
        waiting = len(self.queue) + len(self.preempted)
        state = Load(self.loop.now, waiting, self.pending, len(self.running), self.kv_used, 0)
        if state[1:] != self.log[-1][1:]:
            self.log.append(state)
