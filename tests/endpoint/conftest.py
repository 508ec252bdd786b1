"""The endpoint around a store with a few spans and requests, on a free port."""

import gc
from collections.abc import Callable, Iterator, Sequence

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client import CollectorRegistry

from collector.endpoint import ClickHouseEndpoint
from collector.endpoint.limits import Limits
from collector.settings import Address
from collector.store import Store
from collector.tokens import Grant, Tokens
from tests.api.rows import NOON_NS, a_request, insert

CANARY = "only-in-an-unpublished-table"


@pytest.fixture(scope="package")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store.open(tmp_path_factory.mktemp("store"))
    store.insert_traces([an_export(trace) for trace in range(3)])
    insert(store, [a_request(at=second, name=f"r{second}", ttft=0.5 + second) for second in range(5)])
    store.insert("private_attributes", [[CANARY]], ["key"])
    yield store
    store.close()
    # Clients of ended threads hold the engine until they are collected.
    gc.collect()


def an_export(trace: int) -> bytes:
    """Two spans of one trace: a server span with an event and a link, and its child."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "router"
    scope = resource.scope_spans.add()
    scope.scope.name = "pd"
    start = NOON_NS + trace * 10**9
    root = scope.spans.add(
        trace_id=trace_id(trace),
        span_id=b"root-%03d" % trace,
        name="pd.request",
        kind=2,
        start_time_unix_nano=start,
        end_time_unix_nano=start + 1_500_000_000,
    )
    root.attributes.add(key="pd.phase").value.string_value = "decode"
    root.status.code, root.status.message = 2, "too slow"
    root.events.add(name="first_token", time_unix_nano=start + 5)
    root.links.add(trace_id=b"l" * 16, span_id=b"l" * 8)
    scope.spans.add(
        trace_id=trace_id(trace),
        span_id=b"kid--%03d" % trace,
        parent_span_id=b"root-%03d" % trace,
        name="pd.decode",
        kind=1,
        start_time_unix_nano=start + 10,
        end_time_unix_nano=start + 20,
    )
    return request.SerializeToString()


def trace_id(trace: int) -> bytes:
    return b"trace-%010d" % trace


MakeEndpoint = Callable[..., ClickHouseEndpoint]


@pytest.fixture(scope="package")
def make_endpoint(store: Store) -> Iterator[MakeEndpoint]:
    made: list[ClickHouseEndpoint] = []

    def make(
        token: str | None = None, limits: Limits | None = None, grants: Sequence[Grant] = ()
    ) -> ClickHouseEndpoint:
        endpoint = ClickHouseEndpoint(
            store.embedded or ":memory:",
            Address("127.0.0.1", 0),
            Tokens(token, grants),
            CollectorRegistry(),
            limits,
        )
        endpoint.start()
        made.append(endpoint)
        return endpoint

    yield make
    for endpoint in made:
        endpoint.stop()


@pytest.fixture(scope="package")
def endpoint(make_endpoint: MakeEndpoint) -> ClickHouseEndpoint:
    return make_endpoint()


@pytest.fixture
def http(endpoint: ClickHouseEndpoint) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=endpoint.url, timeout=30) as client:
        yield client
