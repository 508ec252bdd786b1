"""A small OpenAI-compatible streaming server that counts tokens: 1.3 a word and 9 for the template.

Run as a program it prints its address and serves until killed.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web


class Endpoint:
    """`prefill_s` a prompt token, `step_s` an output token; `status` refuses; `tells` its token counts."""

    def __init__(self, prefill_s: float = 0.0, step_s: float = 0.001, status: int = 200, tells: bool = True):
        self.prefill_s, self.step_s, self.status, self.tells = prefill_s, step_s, status, tells
        self.bodies: list[dict[str, Any]] = []
        self.at: list[float] = []
        self.under_way = self.most = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        self.at.append(asyncio.get_running_loop().time())
        body = json.loads(await request.content.read())
        self.bodies.append(body)
        if self.status != 200:
            return web.json_response({"error": {"message": "no"}}, status=self.status)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            return await self._stream(request, body)
        finally:
            self.under_way -= 1

    async def _stream(self, request: web.BaseRequest, body: dict[str, Any]) -> web.StreamResponse:
        prompt = body.get("prompt") or body["messages"][0]["content"]
        count = len(prompt) if isinstance(prompt, list) else round(1.3 * len(prompt.split())) + 9
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await asyncio.sleep(count * self.prefill_s)
        for _ in range(body["max_tokens"]):
            await self._say(response, {"choices": [{"index": 0, "delta": {"content": "x"}}]})
            await asyncio.sleep(self.step_s)
        if self.tells:
            usage = {"prompt_tokens": count, "completion_tokens": body["max_tokens"]}
            await self._say(response, {"choices": [], "usage": usage})
        await response.write(b"data: [DONE]\n\n")
        return response

    async def _say(self, response: web.StreamResponse, message: dict[str, Any]) -> None:
        await response.write(f"data: {json.dumps({'model': 'm', **message})}\n\n".encode())


@contextlib.asynccontextmanager
async def listening(endpoint: Endpoint) -> AsyncIterator[str]:
    """Serve it on a free port; yields its address."""
    server = web.Server(endpoint.handle, handler_cancellation=True, access_log=None)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def _serve() -> None:
    async with listening(Endpoint(prefill_s=2e-5, step_s=0.002)) as address:
        print(address, flush=True)
        await asyncio.sleep(600)


if __name__ == "__main__":
    asyncio.run(_serve())
