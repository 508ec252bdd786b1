"""One file per serving system: how its spans are read, as data."""

from collector.engines import dynamo, native, vllm
from collector.engines.rules import Adapter

ADAPTERS: tuple[Adapter, ...] = (native.ADAPTER, vllm.ADAPTER, dynamo.ADAPTER)
