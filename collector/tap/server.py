"""Running a tap: listening, exporting, and stopping without cutting streams."""

import asyncio
import gc
import signal
import sys
from collections.abc import Callable
from typing import Self

from aiohttp import web
from opentelemetry.sdk.metrics import MeterProvider

from collector.errors import ConfigError
from collector.instrument.export import Worker, trace_provider
from collector.instrument.in_flight import InFlight
from collector.instrument.phase_tracer import PhaseTracer
from collector.settings import Address
from collector.tap.metrics import TapMetrics, meter_provider, otlp_reader
from collector.tap.proxy import Proxy
from collector.tap.settings import TapSettings

# How long the exporter's thread may hold the interpreter while a chunk waits; the default is 5 ms.
SWITCH_INTERVAL_S = 0.0005
CUT_S = 0.1


class Tap:
    """A listening tap; `async with Tap(...) as tap` has `tap.address` and stops at the end of the block.

    Without a tracer one is made that exports to `settings.otlp`; with `otlp=None` nothing leaves the process.
    """

    def __init__(self, settings: TapSettings, tracer: PhaseTracer | None = None) -> None:
        self.settings = settings
        self.in_flight = InFlight()
        self.metrics = TapMetrics(self.in_flight, settings.pool)
        worker = Worker(settings.service, settings.pool, settings.instance, settings.cohort)
        self._meters: MeterProvider | None = None
        if tracer is None and settings.otlp is not None:
            reader = otlp_reader(settings.otlp)
            self._meters = meter_provider(self.in_flight, settings.pool, worker.resource(), reader)
            tracer = PhaseTracer(trace_provider(worker, settings.otlp), "pdscope.tap")
        self._tracer = tracer or PhaseTracer(scope="pdscope.tap")
        self._proxy = Proxy(settings, self._tracer, self.in_flight, self.metrics.ended)
        self._runner = web.ServerRunner(
            web.Server(self._handle, handler_cancellation=True, access_log=None),
            shutdown_timeout=CUT_S,
        )
        self._site: web.TCPSite | None = None
        self.address = settings.listen

    async def start(self) -> None:
        """Listen. Raises ConfigError when the address can't be had."""
        await self._proxy.start()
        await self._runner.setup()
        listen = self.settings.listen
        try:
            self._site = web.TCPSite(self._runner, listen.host, listen.port)
            await self._site.start()
        except OSError as error:
            await self.stop()
            raise ConfigError(
                f"--listen: {listen} can't be listened on ({error.strerror or error}); give another address"
            ) from error
        self.address = Address(listen.host, self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Take no new requests, let streams end for `drain_s`, then send what was recorded."""
        if self._site is not None and self._runner.addresses:
            await self._site.stop()
            await self._proxy.drain(self.settings.drain_s)
        await self._runner.cleanup()
        await self._proxy.close()
        await asyncio.to_thread(self._flush)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == self.settings.metrics_path and request.method == "GET":
            return web.Response(body=self.metrics.page(), content_type="text/plain", charset="utf-8")
        return await self._proxy.handle(request)

    def _flush(self) -> None:
        self._tracer.shutdown()
        if self._meters is not None:
            self._meters.shutdown()


async def serve(settings: TapSettings, ready: Callable[[Address], None]) -> None:
    """Run a tap until SIGINT or SIGTERM; `ready` is told the address once it listens. Raises ConfigError."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    # What start-up made lives as long as the process: the collector need not walk it while chunks wait.
    gc.collect()
    gc.freeze()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with Tap(settings) as tap:
        ready(tap.address)
        await stop.wait()
