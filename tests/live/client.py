"""The client of the live proof: streams completions, notes what it saw, and how late it was itself."""

import asyncio
import contextlib
import gc
import json
import os
import random
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import aiohttp

from tests.live.figures import Lag
from tests.live.processes import go_first

WATCH_S = 0.005
FIRST_TOKEN_ID, LAST_TOKEN_ID = 300, 2000


@dataclass(frozen=True)
class Wish:
    """A request to send: lengths in tokens; `leave_s` or `leave_after_chunks` make its client leave."""

    prompt: int
    output: int
    leave_s: float | None = None
    leave_after_chunks: int | None = None


@dataclass
class Seen:
    """What the client of one request saw; instants are Unix ns."""

    wish: Wish
    trace_id: str
    request_id: str
    sent_ns: int = 0
    first_token_ns: int | None = None
    last_token_ns: int | None = None
    chunks: int = 0
    status: int | None = None
    output_tokens: int | None = None
    input_tokens: int | None = None
    done: bool = False
    left: bool = False
    error: str | None = None

    @property
    def completed(self) -> bool:
        """Whether the whole answer came."""
        return self.done and self.status == 200 and self.error is None

    @property
    def ttft_s(self) -> float:
        assert self.first_token_ns is not None
        return (self.first_token_ns - self.sent_ns) / 1e9


@dataclass
class Client:
    """Sends to one OpenAI-compatible endpoint."""

    url: str
    model: str
    session: aiohttp.ClientSession
    random: random.Random
    lag: Lag = field(default_factory=Lag)
    token_prompts: bool = True
    seen: list[Seen] = field(default_factory=list)

    async def one(self, wish: Wish) -> Seen:
        """Send one request and read its answer to the end, unless its client leaves."""
        found = Seen(wish, secrets.token_hex(16), f"live-{secrets.token_hex(6)}")
        self.seen.append(found)
        try:
            await asyncio.wait_for(self._stream(found), wish.leave_s or 180)
        except TimeoutError:
            found.left = wish.leave_s is not None
            found.error = None if found.left else "no answer in 180 s"
        except aiohttp.ClientError as error:
            found.error = type(error).__name__
        return found

    async def _stream(self, found: Seen) -> None:
        body = {
            "model": self.model,
            "prompt": self._prompt(found.wish.prompt),
            "max_tokens": found.wish.output,
            "stream": True,
            "ignore_eos": True,
            "stream_options": {"include_usage": True},
        }
        headers = {
            "traceparent": f"00-{found.trace_id}-{secrets.token_hex(8)}-01",
            "X-Request-Id": found.request_id,
        }
        found.sent_ns = time.time_ns()
        async with self.session.post(f"{self.url}/v1/completions", json=body, headers=headers) as answer:
            found.status = answer.status
            async for line in answer.content:
                if line.startswith(b"data:"):
                    self._event(found, line[5:].strip(), time.time_ns())
                    if found.chunks == found.wish.leave_after_chunks:
                        found.left = True
                        answer.close()
                        return

    def _event(self, found: Seen, payload: bytes, now: int) -> None:
        if payload == b"[DONE]":
            found.done = True
            return
        message = json.loads(payload)
        if message.get("error"):
            found.error = str(
                message["error"].get("type", "error") if isinstance(message["error"], dict) else "error"
            )
        if usage := message.get("usage"):
            found.input_tokens, found.output_tokens = usage["prompt_tokens"], usage["completion_tokens"]
        if any(choice.get("text") for choice in message.get("choices", ())):
            found.first_token_ns = found.first_token_ns or now
            found.last_token_ns = now
            found.chunks += 1

    def _prompt(self, tokens: int) -> Any:
        ids = [self.random.randint(FIRST_TOKEN_ID, LAST_TOKEN_ID) for _ in range(tokens)]
        return ids if self.token_prompts else " ".join(map(str, ids))[: 4 * tokens]

    async def at_random(self, wishes: Iterable[Wish], per_s: float) -> list[Seen]:
        """Send them with exponential gaps, without waiting for answers; on return all have ended."""
        tasks = []
        for wish in wishes:
            tasks.append(asyncio.create_task(self.one(wish)))
            await asyncio.sleep(self.random.expovariate(per_s))
        return list(await asyncio.gather(*tasks))

    async def watch(self) -> None:
        """Note, for ever, how late the event loop wakes up."""
        while True:
            due = time.time_ns() + int(WATCH_S * 1e9)
            await asyncio.sleep(WATCH_S)
            now = time.time_ns()
            self.lag.note(now, now - due)


@contextlib.asynccontextmanager
async def client(url: str, model: str, seed: int = 1, token_prompts: bool = True) -> AsyncIterator[Client]:
    """A client that watches its own lag while it lives."""
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as session:
        made = Client(url, model, session, random.Random(seed), token_prompts=token_prompts)
        watching = asyncio.create_task(made.watch())
        try:
            yield made
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching


def at_random_apart(
    url: str, model: str, wishes: list[Wish], per_s: float, seed: int
) -> tuple[list[Seen], Lag]:
    """The same from a process of its own: nothing of the tests' own holds up what times first tokens."""
    with ProcessPoolExecutor(1, get_context("spawn"), _go_first) as pool:
        return pool.submit(_at_random, url, model, wishes, per_s, seed).result()


def _at_random(url: str, model: str, wishes: list[Wish], per_s: float, seed: int) -> tuple[list[Seen], Lag]:
    return drive(url, model, lambda client: client.at_random(wishes, per_s), seed=seed)


def _go_first() -> None:
    gc.disable()
    go_first(os.getpid())


def drive(url: str, model: str, play: Callable[[Client], Awaitable[Any]], **options: Any) -> tuple[Any, Lag]:
    """Run `play` with a client; what it returned, and the harness's lag meanwhile."""

    async def run() -> tuple[Any, Lag]:
        async with client(url, model, **options) as made:
            return await play(made), made.lag

    return asyncio.run(run())
