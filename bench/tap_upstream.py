"""The endpoint behind the tap in `bench/tap_latency.py`: its first chunk says how long it was held here."""

import asyncio
import json
import time

import uvloop
from aiohttp import web

HOLD_S = 0.05


def chunk(text, finish=None):
    message = {
        "id": "cmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "tiny",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}],
    }
    return f"data: {json.dumps(message)}\n\n".encode()


async def stream(request):
    """Chunks at a fixed rate; the first carries `held=<ns>;`, the time since the request was read."""
    body = json.loads(await request.read())
    arrived = time.monotonic_ns()
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await asyncio.sleep(HOLD_S)
    due = time.monotonic()
    for number in range(body["chunks"]):
        text = "word" if number else f"held={time.monotonic_ns() - arrived};"
        await response.write(chunk(text))
        due += 1 / body["rate"]
        await asyncio.sleep(max(0.0, due - time.monotonic()))
    await response.write(chunk("", "stop") + b"data: [DONE]\n\n")
    return response


async def main():
    runner = web.ServerRunner(web.Server(stream, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.sleep(600)


if __name__ == "__main__":
    uvloop.run(main())
