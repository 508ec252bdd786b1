"""A decode worker: room is given in order of arrival, and everything that runs gets a token a step."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from analyzer.demo.scenarios.loop import Loop
from analyzer.demo.scenarios.setup import Decode
from analyzer.demo.scenarios.trip import Trip


@dataclass
class Stream:
    """A request on this worker and the KV that is kept for it."""

    trip: Trip
    came: float
    kv: int = 0
    joined: float = 0.0
    began: float = -1.0
    prompt_left: int = 0
    since: float = -1.0
    """When it was last set aside; -1: never."""


@dataclass(frozen=True)
class Calls:
    """What the deployment is told: room was made; a prompt was computed here; the last token was sampled."""

    allocated: Callable[[Stream], None]
    prompt_computed: Callable[[Stream], None]
    finished: Callable[[Stream], None]


class DecodeWorker:
    """Slots, a cache and a loop of steps."""

    def __init__(self, loop: Loop, name: str, number: int, setup: Decode, calls: Calls) -> None:
        self.loop, self.name, self.number, self.setup, self._calls = loop, name, number, setup, calls
        self.queue: deque[Stream] = deque()
        self.placed: dict[int, Stream] = {}
        self.running: list[Stream] = []
        self.local: deque[Stream] = deque()
        self.kv_used = 0
        self.generation = 0
        self.layout = setup.layout
        self.preemptions = 0
        self.generated = 0
        self._stepping = False

    @property
    def load(self) -> int:
        """Requests here."""
        return len(self.queue) + len(self.placed)

    def offer(self, trip: Trip) -> None:
        """Let a request wait for room."""
        self.queue.append(Stream(trip, self.loop.now))
        self._admit()

    def forget(self, trip: Trip) -> Stream | None:
        """Take a request off, wherever it is; None when it is not here."""
        found = next((stream for stream in self.queue if stream.trip is trip), None)
        if found:
            self.queue.remove(found)
        elif found := self.placed.pop(trip.number, None):
            self.kv_used -= found.kv
            self.running = [stream for stream in self.running if stream is not found]
            if found in self.local:
                self.local.remove(found)
        self._admit()
        return found

    def join(self, stream: Stream) -> None:
        """Its KV is here: it runs from the next step on."""
        if stream.trip.number in self.placed:
            self.running.append(stream)
            stream.joined = self.loop.now
            self._wake()

    def compute(self, stream: Stream, tokens: int) -> None:
        """Compute its prompt here, in the steps of everybody."""
        stream.prompt_left = tokens
        self.local.append(stream)
        self._wake()

    def _need(self, trip: Trip) -> int:
        return trip.prompt + (trip.output if self.setup.reserves_output else len(trip.tokens) + 1)

    def _admit(self) -> None:
        while self.queue and len(self.placed) < self.setup.slots:
            stream = self.queue[0]
            need = self._need(stream.trip)
            if self.placed and self.kv_used + need > self.setup.kv_tokens:
                return
            self.queue.popleft()
            stream.kv = need
            self.kv_used += need
            self.placed[stream.trip.number] = stream
            if stream.since >= 0:
                self._restore(stream)
            else:
                self._calls.allocated(stream)

    def _restore(self, stream: Stream) -> None:
        """Bring a stream that was set aside back; it runs again when its KV is here."""
        seconds = self.setup.restore_token_s * (stream.trip.prompt + len(stream.trip.tokens))
        self.loop.after(seconds, self._restored, stream)

    def _restored(self, stream: Stream) -> None:
        stream.trip.aside.append((stream.since, self.loop.now))
        self.join(stream)

    def _wake(self) -> None:
        if not self._stepping:
            self._stepping = True
            self.loop.after(0.0, self._step)

    def _step(self) -> None:
        self._make_room()
        batch = list(self.running)
        chunk: list[tuple[Stream, int]] = []
        budget = self.setup.chunk
        for stream in self.local:
            if budget <= 0:
                break
            if stream.began < 0:
                stream.began = self.loop.now
            chunk.append((stream, min(budget, stream.prompt_left)))
            budget -= chunk[-1][1]
        if not batch and not chunk:
            self._stepping = False
            return
        context = sum(stream.trip.prompt + len(stream.trip.tokens) for stream in batch)
        seconds = self.setup.base_s + self.setup.stream_s * len(batch) + self.setup.context_s * context
        seconds += self.setup.local_token_s * sum(tokens for _, tokens in chunk)
        self.loop.after(seconds, self._stepped, batch, chunk)

    def _stepped(self, batch: list[Stream], chunk: list[tuple[Stream, int]]) -> None:
        for stream in batch:
            if stream in self.running:
                self._token(stream)
        for stream, tokens in chunk:
            stream.prompt_left -= tokens
            if stream.prompt_left <= 0 and stream in self.local:
                self.local.remove(stream)
                self.running.append(stream)
                self._calls.prompt_computed(stream)
                self._token(stream)
        self._admit()
        self._step()

    def _token(self, stream: Stream) -> None:
        trip = stream.trip
        trip.tokens.append(self.loop.now)
        self.generated += 1
        if not self.setup.reserves_output:
            stream.kv += 1
            self.kv_used += 1
        if len(trip.tokens) >= trip.output:
            self.running.remove(stream)
            del self.placed[trip.number]
            self.kv_used -= stream.kv
            self._calls.finished(stream)

    def _make_room(self) -> None:
        """Set the youngest streams aside while the next tokens of all do not fit."""
        if self.setup.reserves_output:
            return
        while len(self.running) > 1 and self.kv_used + len(self.running) > self.setup.kv_tokens:
            last = max(self.running, key=lambda stream: stream.joined)
            self.running.remove(last)
            del self.placed[last.trip.number]
            self.kv_used -= last.kv
            self.preemptions += 1
            last.since = self.loop.now
            self.queue.appendleft(last)
