"""One file per serving system: how its spans and metrics are read, as data."""

from collector.engines import dynamo, infrastructure, native, sglang, trtllm, vllm
from collector.engines.rules import Adapter

ADAPTERS: tuple[Adapter, ...] = (
    native.ADAPTER,
    vllm.ADAPTER,
    dynamo.ADAPTER,
    sglang.ADAPTER,
    trtllm.ADAPTER,
    infrastructure.ADAPTER,
)
