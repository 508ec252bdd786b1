"""A small streaming OpenAI-compatible server. What it does is said in the request's `script`.

Run as a program it prints its port and serves until killed.
"""

import asyncio
import json
import sys

from aiohttp import web

SECRET = "the prompt and the answer are nobody's business"


class Upstream:
    def __init__(self):
        self.seen = []
        self.cancelled = 0
        self.finished = 0
        self.written = 0

    async def handle(self, request):
        body = json.loads(await request.content.read())
        self.seen.append({"headers": dict(request.headers), "path": request.raw_path, "body": body})
        script = body.get("script", {})
        if "status" in script:
            return web.json_response({"error": {"message": SECRET}}, status=script["status"])
        try:
            await asyncio.sleep(script.get("before", 0))
            answer = await (self._stream if body.get("stream") else self._whole)(request, body, script)
        except (asyncio.CancelledError, ConnectionResetError):
            self.cancelled += 1
            raise
        self.finished += 1
        return answer

    async def _whole(self, request, body, script):
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
        choice = {"index": 0, "message": {"role": "assistant", "content": SECRET}, "finish_reason": "stop"}
        return web.json_response({"model": body["model"], "choices": [choice], "usage": usage})

    async def _stream(self, request, body, script):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await self._say(response, {"delta": {"role": "assistant", "content": ""}}, body)
        await asyncio.sleep(script.get("first", 0))
        for number in range(script.get("chunks", 3)):
            if number:
                await asyncio.sleep(script.get("gap", 0.01))
            await self._say(response, {"delta": {"content": SECRET + "x" * script.get("pad", 0)}}, body)
        if script.get("die"):
            request.transport.abort()
            return response
        if script.get("stop_without_end"):
            return response
        await self._say(response, {"delta": {}, "finish_reason": script.get("finish", "stop")}, body)
        if body.get("stream_options", {}).get("include_usage"):
            usage = {"prompt_tokens": 11, "completion_tokens": 2 * script.get("chunks", 3)}
            await self._write(response, {"model": body["model"], "choices": [], "usage": usage})
        await response.write(b"data: [DONE]\n\n")
        await asyncio.sleep(script.get("after", 0))
        return response

    async def _say(self, response, choice, body):
        await self._write(response, {"model": body["model"], "choices": [{"index": 0, **choice}]})

    async def _write(self, response, message):
        data = f"data: {json.dumps(message)}\n\n".encode()
        await response.write(data)
        self.written += len(data)


async def start(upstream, port=0):
    """Serve on loopback; returns (runner, address)."""
    server = web.Server(upstream.handle, handler_cancellation=True, access_log=None)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"


async def _serve_until_killed():
    _, address = await start(Upstream())
    print(address, flush=True)
    await asyncio.sleep(120)


if __name__ == "__main__":
    sys.exit(asyncio.run(_serve_until_killed()))
