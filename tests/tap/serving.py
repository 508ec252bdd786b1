import asyncio
import contextlib
from types import SimpleNamespace

import aiohttp
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from collector.instrument import PhaseTracer
from collector.settings import Address
from collector.tap.server import Tap
from collector.tap.settings import TapSettings
from tests.tap import upstream as upstream_server


@contextlib.asynccontextmanager
async def tapped(upstream_address=None, **settings):
    """An upstream, a tap in front of it and a client; `spans()` are the finished ones."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    upstream = upstream_server.Upstream()
    runner, address = await upstream_server.start(upstream)
    given = {"listen": Address("127.0.0.1", 0), "otlp": None, "drain_s": 0.2, **settings}
    tap = Tap(TapSettings(upstream_address or address, **given), PhaseTracer(provider, "pdscope.tap"))
    try:
        async with tap, aiohttp.ClientSession() as client:
            yield SimpleNamespace(
                upstream=upstream,
                tap=tap,
                client=client,
                url=f"http://{tap.address}",
                spans=exporter.get_finished_spans,
            )
    finally:
        await runner.cleanup()


async def until(condition, seconds=5.0):
    """Wait for a condition, at most this long."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "did not happen in time"
        await asyncio.sleep(0.005)


def chat(stream=True, usage=False, **script):
    body = {
        "model": "tiny",
        "stream": stream,
        "script": script,
        "messages": [{"content": upstream_server.SECRET}],
    }
    return {**body, "stream_options": {"include_usage": True}} if usage else body
