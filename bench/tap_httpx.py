"""A bare proxy on Starlette, uvicorn and httpx that records nothing: what the tap was chosen against."""

import asyncio
import sys

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.responses import StreamingResponse
from starlette.routing import Route


async def main(upstream):
    client = httpx.AsyncClient(limits=httpx.Limits(max_connections=None), timeout=60)

    async def forward(request):
        content = await request.body()
        headers = {"content-type": "application/json"}
        asked = client.build_request("POST", upstream + request.url.path, content=content, headers=headers)
        answer = await client.send(asked, stream=True)
        return StreamingResponse(
            answer.aiter_raw(),
            answer.status_code,
            dict(answer.headers),
            background=BackgroundTask(answer.aclose),
        )

    app = Starlette(routes=[Route("/{path:path}", forward, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", access_log=False))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)
    await serving


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
