"""Attaches the hooks to a connector object: what is read of vLLM's configuration, and where spans go."""

import atexit
import importlib
import logging
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from opentelemetry.sdk.trace import TracerProvider

from collector import conventions as names
from collector.instrument.export import Worker, trace_provider
from collector.instrument.kv_fold import Engine, KvFold
from collector.instrument.span_spec import SpanSpec, emit
from collector.instrument.span_worker import CAPACITY, SpanWorker
from collector.instrument.vllm_hooks import Guard, lay_over_scheduler
from collector.instrument.vllm_notes import NoteReader
from collector.instrument.vllm_rank_hooks import RankNotes, lay_over_rank, watch_leases, watch_reads

log = logging.getLogger("pdscope.kv")
POOL_OF_ROLE = {"kv_producer": names.POOL_PREFILL, "kv_consumer": names.POOL_DECODE}


@dataclass(frozen=True)
class Attached:
    """What lies over one connector object; `close` emits what is still held."""

    close: Callable[[], None] = lambda: None


def attach(connector: Any, vllm_config: Any, role: str, kv_cache_config: Any) -> Attached | None:
    """Hooks over a connector in the role `SCHEDULER` or `WORKER`; None when nothing is to be exported."""
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or os.environ.get(
        "OTEL_EXPORTER_OTLP_ENDPOINT"
    )
    if not endpoint:
        log.warning("pdscope: OTEL_EXPORTER_OTLP_ENDPOINT is not set; the KV connector is not traced.")
        return None
    if role == "WORKER":
        return attach_worker(connector, vllm_config)
    provider = trace_provider(worker_of(vllm_config), endpoint)
    return attach_scheduler(connector, vllm_config, kv_cache_config, provider)


def attach_scheduler(
    connector: Any, vllm_config: Any, kv_cache_config: Any, provider: TracerProvider
) -> Attached:
    """The scheduler's hooks; all spans of the engine leave from here."""
    guard = Guard()
    transfer = vllm_config.kv_transfer_config
    engine = Engine(
        transfer.engine_id,
        transfer.kv_connector,
        guard.run("world_size", lambda: int(vllm_config.parallel_config.world_size)) or 1,
        guard.run("kv_cache_config", block_bytes, kv_cache_config),
    )
    ratio = float(os.environ.get("PDSCOPE_KV_SAMPLE", "1"))
    capacity = int(os.environ.get("PDSCOPE_KV_QUEUE", CAPACITY))
    tracer = provider.get_tracer("pdscope.vllm_connector")
    reader = NoteReader(transfer.engine_id, guard.run("lease", lease_seconds, transfer))
    fold = KvFold(engine)

    def read(note: list[Any]) -> Iterator[SpanSpec]:
        for event in reader.events(note):
            yield from fold.apply(event)

    spans = SpanWorker(read, partial(emit, tracer, ratio=ratio), capacity)

    def close() -> None:
        atexit.unregister(close)
        spans.close()
        provider.shutdown()

    atexit.register(close)
    lay_over_scheduler(connector, guard, spans)
    return Attached(close)


def attach_worker(connector: Any, vllm_config: Any) -> Attached:
    """A rank's hooks, and for NIXL those inside it that tell bytes, renewals and expiry."""
    guard = Guard()
    notes = RankNotes(guard.run("rank", lambda: int(vllm_config.parallel_config.rank)) or 0)
    lay_over_rank(connector, guard, notes)
    inner = getattr(connector, "connector_worker", None)
    if inner is None:
        log.info(
            "pdscope: this connector tells no bytes or descriptors; KV transfers are timed without them."
        )
        return Attached()
    guard.run("nixl telemetry", watch_reads, guard, notes, inner)
    guard.run("nixl leases", watch_leases, guard, notes, inner)
    return Attached()


def worker_of(vllm_config: Any) -> Worker:
    """The engine as the convention names it; what can't be read is left out."""
    transfer = vllm_config.kv_transfer_config
    pool = POOL_OF_ROLE.get(transfer.kv_role, names.POOL_COLOCATED)
    readers: dict[str, Callable[[], Any]] = {
        "model_revision": lambda: vllm_config.model_config.revision,
        "tokenizer": lambda: vllm_config.model_config.tokenizer,
        "kv_dtype": lambda: _kv_dtype(vllm_config),
        "block_size": lambda: int(vllm_config.cache_config.block_size),
        "tp": lambda: int(vllm_config.parallel_config.tensor_parallel_size),
        "pp": lambda: int(vllm_config.parallel_config.pipeline_parallel_size),
        "connector": lambda: transfer.kv_connector,
        "connector_version": _nixl_version if "Nixl" in transfer.kv_connector else lambda: None,
    }
    compat = {name: _read(name, read) for name, read in readers.items()}
    return Worker(
        os.environ.get("OTEL_SERVICE_NAME", f"vllm-{pool}"),
        pool,
        _instance_from_environment() or f"{socket.gethostname()}-{transfer.engine_id}",
        compat={name: value for name, value in compat.items() if value is not None},
        gpus=_read("world size", lambda: int(vllm_config.parallel_config.world_size)),
    )


def _read(name: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except Exception as error:
        log.info("pdscope: %s can't be read of this vLLM's configuration: %s", name, type(error).__name__)
        return None


def block_bytes(kv_cache_config: Any) -> int | None:
    """Bytes of one block of one rank: all its tensors, divided by the number of blocks."""
    if kv_cache_config is None or not kv_cache_config.num_blocks:
        return None
    return int(sum(tensor.size for tensor in kv_cache_config.kv_cache_tensors) // kv_cache_config.num_blocks)


def lease_seconds(transfer: Any) -> float | None:
    """The lease of published KV: NIXL's setting (default 30 s); other connectors tell none."""
    if "Nixl" not in transfer.kv_connector:
        return None
    return float(transfer.kv_connector_extra_config.get("kv_lease_duration", 30))


def _kv_dtype(vllm_config: Any) -> str:
    dtype = str(vllm_config.cache_config.cache_dtype)
    return str(vllm_config.model_config.dtype).removeprefix("torch.") if dtype == "auto" else dtype


def _nixl_version() -> int:
    module = importlib.import_module("vllm.distributed.kv_transfer.kv_connector.v1.nixl.metadata")
    return int(module.NIXL_CONNECTOR_VERSION)


def _instance_from_environment() -> str | None:
    pairs = (pair.partition("=") for pair in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(","))
    return {name.strip(): value.strip() for name, _, value in pairs}.get(names.SERVICE_INSTANCE_ID)
