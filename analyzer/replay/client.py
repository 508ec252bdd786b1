"""The client: every request at its time, whatever became of those before (open loop); and its own lag."""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from analyzer.replay.prompts import Lengths, prompt
from analyzer.replay.schedule import Planned, Schedule
from collector.conventions import OUTCOME_ERROR, OUTCOME_OK
from collector.instrument.answer import Answer, Ending, outcome
from collector.instrument.openai_reader import AnswerReader

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"


@dataclass(frozen=True)
class Target:
    """Where requests go. `force_output`: ask engines that can to write exactly the trace's tokens."""

    url: str
    model: str
    path: str = CHAT
    token: str | None = None
    force_output: bool = True
    timeout_s: float = 600.0


@dataclass(frozen=True)
class Pace:
    """How arrivals are kept: so many times as fast, at most so many requests under way."""

    speed: float = 1.0
    concurrency: int = 1024


@dataclass(frozen=True, slots=True)
class Sent:
    """One request that was sent, as the client saw it; seconds, counted from when it was sent."""

    planned: Planned
    lag_s: float
    """How long after its time it was sent."""
    outcome: str
    ttft_s: float | None
    last_s: float | None
    gaps_s: tuple[float, ...]
    chunks: int
    output_tokens: int | None
    input_tokens: int | None


@dataclass
class Run:
    """What became of a replay so far."""

    sent: list[Sent] = field(default_factory=list)
    held_back: int = 0
    """Requests that waited for the concurrency limit."""
    most_in_flight: int = 0
    stopped: bool = False
    wall_s: float = 0.0
    unsent: int = 0


class Replayer:
    """Sends a schedule. `stop()` ends it early: what is under way is given up, what was seen is kept."""

    def __init__(self, target: Target, lengths: Lengths, pace: Pace, seed: int) -> None:
        self.target, self.lengths, self.pace, self.seed = target, lengths, pace, seed
        self.run_ = Run()
        self._stop = asyncio.Event()
        self._in_flight = 0

    def stop(self) -> None:
        """End the replay."""
        self._stop.set()

    async def run(self, schedule: Schedule, progress: Callable[[int, int, int], None]) -> Run:
        """Send everything; `progress` is told (sent, of, under way)."""
        found, tasks = self.run_, set[asyncio.Task[None]]()
        room = asyncio.Semaphore(self.pace.concurrency)
        async with session_of(self.target) as session:
            began = time.monotonic()
            for number, planned in enumerate(schedule.planned):
                body = self.body(planned)
                due = began + planned.at_s / self.pace.speed
                if await self._stopped_within(due - time.monotonic()):
                    break
                if room.locked():
                    found.held_back += 1
                    if not await self._room(room):
                        break
                else:
                    await room.acquire()
                task = asyncio.create_task(self._send(session, planned, body, due, room))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                progress(number + 1, len(schedule.planned), self._in_flight)
            await self._drain(tasks)
            found.wall_s = time.monotonic() - began
        found.stopped = self._stop.is_set()
        found.unsent = len(schedule.planned) - len(found.sent)
        return found

    async def _stopped_within(self, seconds: float) -> bool:
        if seconds <= 0:
            await asyncio.sleep(0)  # answers are read also while the client is behind
            return self._stop.is_set()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)
        return self._stop.is_set()

    async def _room(self, room: asyncio.Semaphore) -> bool:
        """Wait for room; False when the replay is stopped meanwhile."""
        waiting, stopped = asyncio.ensure_future(room.acquire()), asyncio.ensure_future(self._stop.wait())
        done, pending = await asyncio.wait({waiting, stopped}, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        return waiting in done and not self._stop.is_set()

    async def _drain(self, tasks: set["asyncio.Task[None]"]) -> None:
        """Let what is under way end, unless the replay is stopped."""
        stopped = asyncio.ensure_future(self._stop.wait())
        while tasks and not self._stop.is_set():
            await asyncio.wait({*tasks, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def body(self, planned: Planned) -> bytes:
        """The JSON of a request."""
        body: dict[str, Any] = {
            "model": self.target.model,
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": planned.output,
            "temperature": 0,
        }
        text = prompt(planned, self.lengths, self.seed)
        if self.target.path == CHAT:
            body["messages"] = [{"role": "user", "content": text}]
        else:
            body["prompt"] = text
        if self.target.force_output:
            body |= {"min_tokens": planned.output, "ignore_eos": True}
        return json.dumps(body).encode()

    async def _send(
        self,
        session: aiohttp.ClientSession,
        planned: Planned,
        body: bytes,
        due: float,
        room: asyncio.Semaphore,
    ) -> None:
        found = self.run_
        self._in_flight += 1
        found.most_in_flight = max(found.most_in_flight, self._in_flight)
        try:
            found.sent.append(await exchange(session, self.target, planned, body, due))
        finally:
            self._in_flight -= 1
            room.release()


async def exchange(
    session: aiohttp.ClientSession, target: Target, planned: Planned, body: bytes, due: float
) -> Sent:
    """Send one request and read its answer to the end."""
    answer, status, ending = Answer(), None, Ending.COMPLETE
    lag = time.monotonic() - due
    start = time.monotonic_ns()
    try:
        async with session.post(target.url + target.path, data=body) as response:
            status = response.status
            reader = AnswerReader(answer, response.headers.get("Content-Type", ""))
            async for data in response.content.iter_any():
                reader.feed(data, time.monotonic_ns())
            reader.end(time.monotonic_ns())
    except TimeoutError:
        ending = Ending.TIMEOUT
    except aiohttp.ClientError:
        ending = Ending.UPSTREAM_LOST
    how = outcome(status, answer, ending)
    if how == OUTCOME_OK and answer.first_token_ns is None:
        # a success without a token is no answer: a web page, a model that is not there
        how = OUTCOME_ERROR
    return Sent(
        planned,
        max(0.0, lag),
        how,
        _since(start, answer.first_token_ns),
        _since(start, answer.last_token_ns),
        tuple(gap / 1e9 for gap in answer.gaps_ns),
        answer.chunks,
        answer.output_tokens,
        answer.input_tokens,
    )


def _since(start_ns: int, at_ns: int | None) -> float | None:
    return None if at_ns is None else (at_ns - start_ns) / 1e9


def session_of(target: Target) -> aiohttp.ClientSession:
    """Connections to the target, as many as there are requests under way."""
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    if target.token:
        headers["Authorization"] = f"Bearer {target.token}"
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=target.timeout_s),
        headers=headers,
        cookie_jar=aiohttp.DummyCookieJar(),
    )
