import asyncio
import contextlib
import time

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from collector.instrument import Phase, PhaseTracer
from collector.instrument.asgi import RequestMiddleware, current_request
from tests.instrument.test_openai_reader import say, sse

CHAT = "/v1/chat/completions"


async def answer(request):
    wanted = (await request.json())["chunks"]
    with current_request().phase(Phase.ROUTER_QUEUE):
        await asyncio.sleep(0.01)

    async def chunks():
        for _ in range(wanted):
            yield sse(say("x"))
            await asyncio.sleep(0.05)
        yield sse(say("", finish_reason="stop"), b"[DONE]")

    return StreamingResponse(chunks(), media_type="text/event-stream")


async def fails(request):
    raise RuntimeError("the prompt was: secret")


async def health(request):
    return JSONResponse({"request": str(current_request())})


@contextlib.asynccontextmanager
async def serving(provider):
    routes = [
        Route(CHAT, answer, methods=["POST"]),
        Route("/v1/completions", fails, methods=["POST"]),
        Route("/health", health),
    ]
    app = Starlette(routes=routes, middleware=[Middleware(RequestMiddleware, tracer=PhaseTracer(provider))])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", ws="none"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            yield client
    finally:
        server.should_exit = True
        await task


@pytest.fixture
def run(provider):
    def run(story):
        async def whole():
            async with serving(provider) as client:
                await story(client)

        asyncio.run(asyncio.wait_for(whole(), 20))

    return run


def test_a_streaming_app_is_recorded_with_its_phases(run, exporter):
    async def story(client):
        arrivals = []
        async with client.stream("POST", CHAT, json={"chunks": 3}) as response:
            async for chunk in response.aiter_raw():
                if b'"x"' in chunk:
                    arrivals.append(time.time_ns())
        request, queue = sorted(exporter.get_finished_spans(), key=lambda span: span.name)
        assert (request.name, queue.name) == ("pd.request", "pd.router_queue")
        assert queue.parent.span_id == request.context.span_id
        assert (request.attributes["pd.outcome"], request.attributes["pd.route"]) == ("ok", CHAT)
        assert request.attributes["gen_ai.usage.output_tokens"] == 3
        first, last = (event.timestamp for event in request.events)
        assert abs(first - arrivals[0]) < 50e6
        assert abs(last - arrivals[-1]) < 50e6

    run(story)


def test_a_client_that_leaves_is_cancelled(run, exporter):
    async def story(client):
        async with client.stream("POST", CHAT, json={"chunks": 1000}) as response:
            async for _ in response.aiter_raw():
                break
        for _ in range(200):
            if len(exporter.get_finished_spans()) == 2:
                break
            await asyncio.sleep(0.01)
        outcomes = [span.attributes.get("pd.outcome") for span in exporter.get_finished_spans()]
        assert outcomes == [None, "cancelled"]

    run(story)


def test_an_app_that_raises_is_an_error_without_its_words(run, exporter):
    async def story(client):
        assert (await client.post("/v1/completions", json={})).status_code == 500
        (span,) = exporter.get_finished_spans()
        assert span.attributes["pd.outcome"] == "error"
        assert "secret" not in span.to_json()

    run(story)


def test_other_paths_are_left_alone(run, exporter):
    async def story(client):
        assert (await client.get("/health")).json() == {"request": "None"}
        assert exporter.get_finished_spans() == ()

    run(story)
