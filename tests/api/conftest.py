"""One embedded store for the tests of this folder: an engine opens one path at a time in a process."""

import gc
from collections.abc import Callable, Iterator, Sequence

import httpx
import pytest
from prometheus_client import CollectorRegistry

from analyzer.api.app import create_app
from analyzer.api.audit import AuditLog
from analyzer.api.server import RestServer
from analyzer.api.services import Importer, Readiness, Services
from analyzer.slo.objectives import Objectives
from collector.settings import Address, Settings
from collector.store.store import Store
from collector.tokens import Grant
from tests.api.rows import clear


@pytest.fixture(scope="package")
def open_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store.open(tmp_path_factory.mktemp("store"))
    yield store
    store.close()
    # Clients of ended threads hold the engine until they are collected.
    gc.collect()


@pytest.fixture
def store(open_store: Store) -> Store:
    clear(open_store)
    return open_store


MakeClient = Callable[..., httpx.Client]


@pytest.fixture
def make_client(store: Store) -> Iterator[MakeClient]:
    """Make clients of a real server on loopback around the store."""
    ends: list[Callable[[], None]] = []

    def make(
        objectives: Objectives | None = None,
        settings: Settings | None = None,
        importer: Importer | None = None,
        readiness: Readiness | None = None,
        grants: Sequence[Grant] = (),
        audit: AuditLog | None = None,
    ) -> httpx.Client:
        services = Services(
            store=store,
            objectives=lambda: objectives or Objectives(),
            importer=importer,
            registry=CollectorRegistry(),
            ready=lambda: readiness or Readiness(True),
            settings=settings or Settings(),
            grants=tuple(grants),
            audit=audit,
        )
        server = RestServer(create_app(services), Address("127.0.0.1", 0))
        server.start()
        client = httpx.Client(base_url=server.url, timeout=30)
        ends.extend([client.close, server.stop])
        return client

    yield make
    for end in ends:
        end()


@pytest.fixture
def client(make_client: MakeClient) -> httpx.Client:
    return make_client()
