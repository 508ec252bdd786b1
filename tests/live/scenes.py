"""What is played to a live vLLM stack: ordinary load and each fault. Each returns what its clients saw."""

import asyncio
import random
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from tests.live.client import FIRST_TOKEN_ID, LAST_TOKEN_ID, Client, Seen, Wish, at_random_apart, drive
from tests.live.figures import Lag
from tests.live.vllm_stack import MODEL, VllmStack

SENDS_REMOTE = {
    "do_remote_decode": True,
    "do_remote_prefill": False,
    "remote_engine_id": None,
    "remote_block_ids": None,
    "remote_host": None,
    "remote_port": None,
}


@dataclass(frozen=True)
class Scene:
    """What happened: clients' requests, from when to when (Unix seconds), and the harness's own lag."""

    seen: list[Seen]
    start: float
    end: float
    lag: Lag

    @property
    def window(self) -> dict[str, str]:
        """Parameters of a REST call about this scene."""
        return {"from": f"{self.start:.3f}", "to": f"{self.end:.3f}"}


def _play(stack: VllmStack, play: Callable[[Client], Any], seed: int) -> Scene:
    start = time.time()
    seen, lag = drive(stack.url, MODEL, play, seed=seed)
    return Scene(seen, start, time.time() + 0.001, lag)


def ordinary(stack: VllmStack, count: int, per_s: float, seed: int) -> Scene:
    """Streaming requests of mixed lengths, at random instants."""
    lengths = random.Random(seed)
    wishes = [Wish(lengths.randint(16, 200), lengths.randint(4, 8)) for _ in range(count)]
    start = time.time()
    seen, lag = at_random_apart(stack.url, MODEL, wishes, per_s, seed)
    return Scene(seen, start, time.time() + 0.001, lag)


def leave_mid_stream(stack: VllmStack, count: int) -> Scene:
    """Clients that leave after their third chunk, while others stay."""
    wishes = [Wish(100, 1500, leave_after_chunks=3), Wish(100, 8)] * count
    return _play(stack, lambda client: client.at_random(wishes, 1.0), 2)


def leave_before_decode(stack: VllmStack, count: int) -> Scene:
    """Clients that leave while prefill computes a long prompt."""

    async def play(client: Client) -> list[Seen]:
        return [await client.one(Wish(3000, 8, leave_s=0.15)) for _ in range(count)]

    return _play(stack, play, 3)


def decode_never_called(stack: VllmStack, count: int) -> Scene:
    """What a router that dies after prefill leaves: the KV is published, and nobody comes for it."""
    start, seen = time.time(), []
    rng = random.Random(4)
    for _ in range(count):
        one = Seen(
            Wish(rng.choice((100, 300, 700)), 1), secrets.token_hex(16), f"live-{secrets.token_hex(6)}"
        )
        one.sent_ns = time.time_ns()
        answer = httpx.post(
            f"{stack.engine_url('prefill')}/v1/completions",
            headers={
                "traceparent": f"00-{one.trace_id}-{secrets.token_hex(8)}-01",
                "X-Request-Id": one.request_id,
            },
            json={
                "model": MODEL,
                "prompt": [rng.randint(FIRST_TOKEN_ID, LAST_TOKEN_ID) for _ in range(one.wish.prompt)],
                "max_tokens": 1,
                "kv_transfer_params": SENDS_REMOTE,
            },
            timeout=120,
        )
        one.status = answer.status_code
        one.last_token_ns = time.time_ns()
        seen.append(one)
    return Scene(seen, start, time.time(), Lag())


def saturate_prefill(stack: VllmStack, count: int) -> Scene:
    """A burst of long prompts, and short ones that arrive meanwhile."""

    async def play(client: Client) -> list[Seen]:
        burst = [asyncio.create_task(client.one(Wish(3500, 4))) for _ in range(count)]
        short = await client.at_random([Wish(64, 4) for _ in range(count // 2)], 2.0)
        return [*await asyncio.gather(*burst), *short]

    return _play(stack, play, 5)


def kill_decode(stack: VllmStack, count: int) -> Scene:
    """Decode crashes while it streams and while more requests come in."""

    async def play(client: Client) -> list[Seen]:
        streams = [asyncio.create_task(client.one(Wish(64, 1500))) for _ in range(count)]
        await streaming(client, count)
        stack.engines["decode"].freeze()
        late = [asyncio.create_task(client.one(Wish(200, 8))) for _ in range(count)]
        await asyncio.to_thread(_published, stack, count)
        await asyncio.to_thread(stack.engines["decode"].kill)
        return list(await asyncio.gather(*streams, *late))

    return _play(stack, play, 6)


def kill_prefill_before_the_pull(stack: VllmStack, count: int) -> Scene:
    """Prefill has published, decode stands still; then prefill crashes and decode goes on."""

    async def play(client: Client) -> list[Seen]:
        stack.engines["decode"].freeze()
        asked = [asyncio.create_task(client.one(Wish(200, 8))) for _ in range(count)]
        await asyncio.to_thread(_published, stack, count)
        await asyncio.to_thread(stack.engines["prefill"].kill)
        stack.engines["decode"].thaw()
        return list(await asyncio.gather(*asked))

    return _play(stack, play, 7)


async def streaming(client: Client, count: int) -> None:
    """Wait until this many requests of the client are streaming."""
    while sum(one.chunks > 0 for one in client.seen) < count:
        await asyncio.sleep(0.05)


def _published(stack: VllmStack, count: int, seconds: float = 60.0) -> None:
    """Wait until prefill is done with `count` more requests, and has had time to send its spans."""
    name = "vllm:request_success_total"
    until, before = time.monotonic() + seconds, None
    while time.monotonic() < until:
        now = stack.metric("prefill", name)
        before = now if before is None else before
        waiting = stack.metric("prefill", "vllm:num_requests_running") + stack.metric(
            "prefill", "vllm:num_requests_waiting"
        )
        if not waiting and now >= before:
            break
        time.sleep(0.2)
    time.sleep(3)
