"""One pdscope in this process: store, receiver, assembler and REST, started and stopped together."""

import contextlib
import logging
import math
from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from analyzer.api.app import create_app
from analyzer.api.audit import AuditLog
from analyzer.api.server import RestServer
from analyzer.api.services import Readiness, Services
from analyzer.cli.analyst import Analyst
from analyzer.cli.settings_check import refuse_unguarded_reading
from analyzer.slo.objectives_file import ObjectivesFile
from collector.endpoint import ClickHouseEndpoint
from collector.errors import BadBody, CollectorError, ConfigError
from collector.journal import Journal, JournalLimits
from collector.receive.access import Access
from collector.receive.formats import FileReport
from collector.receive.import_files import import_stream
from collector.receive.receiver import OtlpReceiver
from collector.receive.settings import ReceiveSettings, Tls
from collector.scrape import Scraper, read_scrape_config
from collector.scrape.shares import shares_of
from collector.settings import Settings
from collector.store import Store
from collector.tokens import Tokens, read_tokens

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
    """What `pdscope serve` runs, by its role. `start()` once, then `stop()`.

    With `receive=False` nothing listens for OTLP: for commands that bring pdscope up for themselves.
    """

    def __init__(self, settings: Settings, receive: bool = True):
        """Check settings and open the store. Raises ConfigError, StoreError (StoreBusy when it is in use)."""
        settings.refuse_open_listeners()
        settings.refuse_lone_role()
        self._grants = tuple(read_tokens(settings.tenant_tokens)) if settings.tenant_tokens else ()
        self._tokens = Tokens(settings.token, self._grants)
        refuse_unguarded_reading(settings, self._tokens)
        registry = CollectorRegistry()
        self._slo = ObjectivesFile(settings.slo, registry)
        self._ends: list[Callable[[], object]] = []
        self._serving = False
        self._settings = settings
        self._store = Store.open(settings.store or settings.data)
        self._ends.append(self._store.close)
        try:
            self._analyst = (
                Analyst(self._store, settings, self._slo.current, registry, lasting=receive)
                if settings.role.analyzes
                else None
            )
            self._rest = RestServer(self._make_app(registry), settings.api)
            self._ends.append(self._rest.stop)
            receives = receive and settings.role.receives
            self._receiver = self._make_receiver(settings, registry) if receives else None
            self._scraper = self._make_scraper(settings, registry)
            self._endpoint = self._make_endpoint(settings, registry) if receive else None
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
        if self._endpoint:
            found["clickhouse_http"] = self._endpoint.url
        return found

    def start(self) -> None:
        """Receive, assemble and answer; returns when all do. Raises ConfigError when an address is in use."""
        try:
            if self._receiver:
                self._receiver.start()
                self._ends.append(self._receiver.stop)
            if self._scraper:
                self._scraper.start()
                self._ends.append(self._scraper.stop)
            if self._analyst:
                self._ends.append(self._analyst.stop)
                self._analyst.start()
            self._slo.start()
            self._ends.append(self._slo.stop)
            self._rest.start()
            if self._endpoint:
                self._endpoint.start()
        except BaseException:
            self.stop()
            raise
        self._serving = True
        self._store.announce(self.url)

    def settle(self) -> None:
        """Take every stored span into account before going on."""
        if self._analyst:
            self._analyst.catch_up()

    def stop(self) -> None:
        """Stop in the reverse order of starting; what was acknowledged is stored. Safe to call twice."""
        self._serving = False
        while self._ends:
            with contextlib.suppress(CollectorError):
                self._ends.pop()()

    def _make_app(self, registry: CollectorRegistry) -> FastAPI:
        analyst = self._analyst
        services = Services(
            store=self._store,
            objectives=self._slo.current,
            importer=StoreImporter(self._store, analyst.wake) if analyst else None,
            registry=registry,
            ready=self._readiness,
            settings=self._settings,
            grants=self._grants,
            audit=AuditLog(self._settings.data / "audit.log"),
            assembled=analyst.taken if analyst else None,
            judged=analyst.judged if analyst else lambda: 0,
            stored_until=lambda: self._receiver.stored_until if self._receiver else math.inf,
        )
        return create_app(services, answers=analyst is not None)

    def _make_receiver(self, settings: Settings, registry: CollectorRegistry) -> OtlpReceiver:
        self._otlp_hosts = (settings.otlp_grpc.host, settings.otlp_http.host)
        journal = Journal(settings.data / "journal", _journal_limits(settings))
        self._ends.append(journal.close)
        return OtlpReceiver(self._store, _listeners(settings), registry, journal, Access(self._tokens))

    def _make_scraper(self, settings: Settings, registry: CollectorRegistry) -> Scraper | None:
        if settings.scrape is None or self._receiver is None:
            return None
        config = read_scrape_config(settings.scrape)
        return Scraper(config, self._receiver.submit, registry, shares_of(self._store, settings.scrape))

    def _make_endpoint(self, settings: Settings, registry: CollectorRegistry) -> ClickHouseEndpoint | None:
        if settings.clickhouse_http is None:
            return None
        if not settings.clickhouse_http.loopback and not self._tokens.guard_reading:
            raise ConfigError(
                f"clickhouse_http would listen on {settings.clickhouse_http}, and no token may read"
            )
        if self._store.embedded is None:
            # A server has its own; Grafana reads there.
            return None
        endpoint = ClickHouseEndpoint(self._store.embedded, settings.clickhouse_http, self._tokens, registry)
        self._ends.append(endpoint.stop)
        return endpoint

    def _readiness(self) -> Readiness:
        if not self._serving:
            return Readiness(False, ("starting or stopping",))
        try:
            self._store.query("SELECT 1")
        except CollectorError as error:
            return Readiness(False, (f"the store does not answer: {error}",))
        troubles = self._receiver.troubles() if self._receiver else []
        said = [self._slo.trouble] if self._slo.trouble else []
        return Readiness(not troubles, (*troubles, *said))


def _journal_limits(settings: Settings) -> JournalLimits:
    return JournalLimits(
        settings.journal_max_bytes,
        settings.journal_segment_bytes,
        settings.journal_min_free_bytes,
        settings.journal_max_age_s,
    )


def _listeners(settings: Settings) -> ReceiveSettings:
    tls = None
    if settings.tls_cert and settings.tls_key:
        tls = Tls(settings.tls_cert, settings.tls_key, settings.tls_client_ca)
    return ReceiveSettings(
        grpc_address=str(settings.otlp_grpc),
        http_address=str(settings.otlp_http),
        max_body_bytes=settings.otlp_max_body_bytes,
        max_items=settings.otlp_max_items,
        max_queue_bytes=settings.otlp_max_queue_bytes,
        max_memory_bytes=settings.otlp_max_memory_bytes,
        max_concurrent_exports=settings.otlp_max_concurrent,
        max_connections=settings.otlp_max_connections,
        source_bytes_per_s=settings.otlp_source_bytes_per_s,
        body_timeout=settings.otlp_body_timeout_s,
        header_timeout=settings.otlp_header_timeout_s,
        scrub=settings.scrub_before_journal,
        tls=tls,
    )
