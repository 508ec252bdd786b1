"""One file per serving system: how its spans and metrics are read, as data."""

from collector.engines import (
    dynamo,
    infrastructure,
    llm_d,
    lmcache,
    mooncake,
    native,
    ray_serve,
    sglang,
    smg,
    trtllm,
    vllm,
)
from collector.engines.rules import Adapter

ADAPTERS: tuple[Adapter, ...] = (
    native.ADAPTER,
    vllm.ADAPTER,
    dynamo.ADAPTER,
    sglang.ADAPTER,
    smg.ADAPTER,
    llm_d.ADAPTER,
    ray_serve.ADAPTER,
    lmcache.ADAPTER,
    trtllm.ADAPTER,
    mooncake.ADAPTER,
    infrastructure.ADAPTER,
)
