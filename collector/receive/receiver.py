"""Both OTLP listeners, the batcher and pdscope's own spans, started and stopped together."""

import asyncio
import math
import threading
from concurrent.futures import Future

import uvicorn
from prometheus_client import CollectorRegistry

from collector.journal import Journal
from collector.receive.access import Access
from collector.receive.batcher import Batcher
from collector.receive.commit import Refused, Sink
from collector.receive.export import Export, JournalKeeper, StoreKeeper
from collector.receive.grpc_listener import grpc_server
from collector.receive.http_listener import http_server
from collector.receive.inserter import Inserter
from collector.receive.intake import Intake
from collector.receive.metrics import ReceiveMetrics
from collector.receive.own_spans import OwnSpans
from collector.receive.settings import ReceiveSettings


class OtlpReceiver:
    """Receives OTLP on a thread of its own. `start()` once, then `stop()`.

    With a journal an export is acknowledged once it is on disk there, and stored afterwards; without one it
    is acknowledged once it is stored.
    """

    def __init__(
        self,
        sink: Sink,
        settings: ReceiveSettings,
        registry: CollectorRegistry,
        journal: Journal | None = None,
        access: Access | None = None,
    ):
        """Exports go to `sink`; what the receiver counts is registered in `registry`.

        access: who may send, everyone by default.
        """
        self._settings = settings
        self._metrics = ReceiveMetrics(registry)
        self._journal = journal
        self.own_spans = OwnSpans(settings.own_span_ratio)
        tracer = self.own_spans.tracer("pdscope.receive")
        keeper = JournalKeeper(journal) if journal else StoreKeeper(sink)
        linger = settings.journal_linger if journal else settings.linger
        self._batcher = Batcher(keeper, settings, self._metrics, tracer, linger)
        self._inserter = (
            Inserter(journal, sink, self._metrics, settings.max_batch_bytes, settings.insert_linger)
            if journal
            else None
        )
        self._intake = Intake(self._batcher, settings, self._metrics, tracer, access)
        self.own_spans.send_to(self._intake.submit_own)
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name="pdscope-otlp", daemon=True
        )
        self._ports: Future[tuple[int, int]] = Future()
        self._stop: asyncio.Event
        self._loop: asyncio.AbstractEventLoop
        self._grace = 0.0

    @property
    def grpc_port(self) -> int:
        """The bound OTLP/gRPC port."""
        return self._ports.result(timeout=0)[0]

    @property
    def http_port(self) -> int:
        """The bound OTLP/HTTP port."""
        return self._ports.result(timeout=0)[1]

    @property
    def stored_until(self) -> float:
        """Everything acknowledged before this (Unix seconds) is stored; infinite while nothing waits."""
        return self._journal.stored_until if self._journal else math.inf

    def submit(self, export: Export, transport: str) -> "Future[Refused]":
        """Keep an export that pdscope made, as those that it was sent. Raises QueueFull, Unavailable."""
        return self._intake.submit(export, transport)

    def troubles(self) -> list[str]:
        """Why exports would be refused now, or are not stored; empty when all is well."""
        found = [self._intake.refusal_now()]
        if self._journal:
            found.append(str(self._journal.refusal() or ""))
        if self._inserter and self._inserter.state.why:
            found.append(f"the store takes no exports, they wait in the journal: {self._inserter.state.why}")
        return [trouble for trouble in found if trouble]

    def start(self) -> None:
        """Listen; returns when both ports are bound. Raises ConfigError when one cannot be."""
        self._thread.start()
        try:
            self._ports.result(timeout=30)
        except BaseException:
            self._thread.join(timeout=5)
            self._close()
            raise
        if self._inserter:
            self._inserter.start()

    def stop(self, grace: float = 5.0) -> None:
        """Take no new exports, answer those in flight for up to `grace` seconds, and keep all accepted.

        What the store does not take within `grace` waits in the journal for the next start.
        """
        self._grace = grace
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._close()
        if self._inserter:
            self._inserter.stop(grace)

    def _close(self) -> None:
        self.own_spans.close()
        self._batcher.close()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        try:
            grpc_listener, grpc_port = grpc_server(self._intake, self._settings)
            http_listener, http_socket = http_server(self._intake, self._settings, self._metrics)
        except BaseException as error:
            self._ports.set_exception(error)
            return
        await grpc_listener.start()
        serving = asyncio.create_task(http_listener.serve([http_socket]))
        while not http_listener.started:
            await asyncio.sleep(0.005)
        self._ports.set_result((grpc_port, http_socket.getsockname()[1]))
        await self._stop.wait()
        await asyncio.gather(grpc_listener.stop(self._grace), self._stop_http(http_listener, serving))

    async def _stop_http(self, listener: uvicorn.Server, serving: "asyncio.Task[None]") -> None:
        listener.config.timeout_graceful_shutdown = max(1, round(self._grace))
        listener.should_exit = True
        await serving
