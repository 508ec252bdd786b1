"""Real captures, sent over the wire to a pdscope of its own process."""

from collections.abc import Iterator

import pytest

from tests.integration.running import Server, bodies, send, serving
from tests.paths import CAPTURES

FILES = (
    "vllm-0.32.0/baseline/otlp.jsonl.gz",
    "vllm-0.32.0/fault-a1-client-disconnect-midstream/otlp.jsonl.gz",
    "vllm-0.32.0/fault-b-orphaned-kv-decode-never-called/otlp.jsonl.gz",
    "dynamo-1.6.1/baseline-sync/otlp_traces.bin.gz",
    "dynamo-1.6.1/fault-client-cancel/otlp_traces.bin.gz",
)


@pytest.fixture(scope="package")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("captured") / "data") as server:
        for name in FILES:
            send(server, bodies(CAPTURES / name))
        server.settle(review=True)
        yield server
