"""One pdscope in this process: store, receiver, assembler and REST, started and stopped together."""

import contextlib
import logging
from collections.abc import Callable
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge

from analyzer.api.app import create_app
from analyzer.api.server import RestServer
from analyzer.api.services import Readiness, Services
from analyzer.assemble.assembler import Assembler
from analyzer.export import Exporter
from analyzer.slo.objectives import load_objectives
from analyzer.web.serve import mount
from collector.errors import BadBody, CollectorError
from collector.receive.formats import FileReport
from collector.receive.import_files import import_stream
from collector.receive.receiver import OtlpReceiver
from collector.receive.settings import ReceiveSettings
from collector.settings import Settings
from collector.store import Store

log = logging.getLogger(__name__)


class StoreImporter:
    """Stores files of telemetry and wakes the assembler."""

    def __init__(self, store: Store, stored: Callable[[], None]):
        self._store = store
        self._stored = stored

    def import_file(self, path: Path, name: str) -> FileReport:
        """Store what `path` holds. Raises BadBody when it is no format pdscope reads."""
        with path.open("rb") as stream:
            report = import_stream(stream, name, self._store)
        if report.bodies:
            self._stored()
        elif not report.format:
            raise BadBody(report.examples[0] if report.examples else f"{name}: not a format pdscope reads")
        return report


class Process:
    """Everything `pdscope serve` runs. `start()` once, then `stop()`.

    With `receive=False` nothing listens for OTLP: for commands that bring pdscope up for themselves.
    """

    def __init__(self, settings: Settings, receive: bool = True):
        """Check settings and open the store. Raises ConfigError, StoreError (StoreBusy when it is in use)."""
        settings.refuse_open_listeners()
        objectives = load_objectives(settings.slo)
        self._ends: list[Callable[[], object]] = []
        self._serving = False
        self._store = Store.open(settings.data)
        self._ends.append(self._store.close)
        try:
            registry = CollectorRegistry()
            self._assembler = Assembler(self._store)
            _report_lag(self._assembler, registry)
            services = Services(
                store=self._store,
                objectives=lambda: objectives,
                importer=StoreImporter(self._store, self._assembler.wake),
                registry=registry,
                ready=self._readiness,
                settings=settings,
            )
            app = create_app(services)
            mount(app)
            self._rest = RestServer(app, settings.api)
            self._ends.append(self._rest.stop)
            self._receiver = self._make_receiver(settings, registry) if receive else None
            self._exporter = Exporter(
                self._store, registry, lambda: objectives, lambda: self._assembler.progress().taken
            )
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        """Base address of REST."""
        return self._rest.url

    def addresses(self) -> dict[str, str]:
        """Where it can be reached, by what is spoken there."""
        found = {"api": self.url}
        if self._receiver:
            host = self._otlp_hosts
            found["otlp_grpc"] = f"{host[0]}:{self._receiver.grpc_port}"
            found["otlp_http"] = f"http://{host[1]}:{self._receiver.http_port}"
        return found

    def start(self) -> None:
        """Receive, assemble and answer; returns when all do. Raises ConfigError when an address is in use."""
        try:
            if self._receiver:
                self._receiver.start()
                self._ends.append(self._receiver.stop)
            self._assembler.start()
            self._ends.append(self._assembler.stop)
            self._exporter.start()
            self._ends.append(self._exporter.stop)
            self._rest.start()
        except BaseException:
            self.stop()
            raise
        self._serving = True
        self._store.announce(self.url)

    def settle(self) -> None:
        """Take every stored span into account before going on."""
        self._assembler.catch_up()

    def stop(self) -> None:
        """Stop in the reverse order of starting; what was acknowledged is stored. Safe to call twice."""
        self._serving = False
        while self._ends:
            with contextlib.suppress(CollectorError):
                self._ends.pop()()

    def _make_receiver(self, settings: Settings, registry: CollectorRegistry) -> OtlpReceiver:
        self._otlp_hosts = (settings.otlp_grpc.host, settings.otlp_http.host)
        listeners = ReceiveSettings(
            grpc_address=str(settings.otlp_grpc), http_address=str(settings.otlp_http)
        )
        return OtlpReceiver(self._store, listeners, registry)

    def _readiness(self) -> Readiness:
        if not self._serving:
            return Readiness(False, ("starting or stopping",))
        try:
            self._store.query("SELECT 1")
        except CollectorError as error:
            return Readiness(False, (f"the store does not answer: {error}",))
        return Readiness(True)


def _report_lag(assembler: Assembler, registry: CollectorRegistry) -> None:
    lag = Gauge(
        "pdscope_assembly_lag_inserts", "Stored inserts not yet taken into requests.", registry=registry
    )
    lag.set_function(lambda: assembler.progress().stored - assembler.progress().taken)
    step = Gauge("pdscope_assembly_step_seconds", "Time the last step of assembly took.", registry=registry)
    step.set_function(lambda: assembler.progress().last_step_s)
