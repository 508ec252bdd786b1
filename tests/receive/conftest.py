from collections.abc import Callable, Iterator

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from prometheus_client import CollectorRegistry

from collector.receive import OtlpReceiver, ReceiveSettings
from collector.receive.grpc_listener import TRACE_SERVICE
from collector.store import Store

LOOPBACK = ReceiveSettings(grpc_address="127.0.0.1:0", http_address="127.0.0.1:0", own_span_ratio=0)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = Store.open(tmp_path_factory.mktemp("store"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture(scope="module")
def receiver(store: Store, registry: CollectorRegistry) -> Iterator[OtlpReceiver]:
    running = OtlpReceiver(store, LOOPBACK, registry)
    running.start()
    yield running
    running.stop(grace=1)


Export = Callable[[bytes], ExportTraceServiceResponse]


@pytest.fixture(scope="module")
def grpc_export(receiver: OtlpReceiver) -> Iterator[Export]:
    with grpc.insecure_channel(f"127.0.0.1:{receiver.grpc_port}") as channel:
        call = channel.unary_unary(f"/{TRACE_SERVICE}/Export")
        yield lambda body: ExportTraceServiceResponse.FromString(call(body, timeout=30))


@pytest.fixture(scope="module")
def traces_url(receiver: OtlpReceiver) -> str:
    return f"http://127.0.0.1:{receiver.http_port}/v1/traces"


@pytest.fixture(scope="module")
def stored(store: Store) -> Callable[[str], int]:
    """Counts stored spans of a name."""
    return lambda name: int(
        store.query("SELECT count() FROM spans WHERE name = {name:String}", {"name": name})[0][0]
    )
