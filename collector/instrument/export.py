"""Where spans and metrics go: OTLP/gRPC providers with the resource the convention asks for."""

import os
import socket
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from collector import conventions as names
from collector.instrument.ids import EntropyIds

EXPORT_EVERY_MS = 200


@dataclass(frozen=True)
class Worker:
    """The process that emits: its name, role and what it must agree on with the other side of a hand-off.

    `compat` holds the part of the name after `pd.compat.` (for example `block_size`) and its value.
    """

    service: str
    pool: str
    instance: str | None = None
    cohort: str | None = None
    gpus: int | None = None
    version: str | None = None
    compat: Mapping[str, str | int] = field(default_factory=dict)

    def resource(self) -> Resource:
        """The OpenTelemetry resource; `OTEL_RESOURCE_ATTRIBUTES` adds to it. ValueError on a bad pool."""
        if self.pool not in names.POOLS:
            raise ValueError(f"pool {self.pool!r} is none of {', '.join(names.POOLS)}: set one of these")
        known = {
            names.SERVICE_NAME: self.service,
            names.SERVICE_INSTANCE_ID: self.instance or _process_name(os.getpid()),
            names.SERVICE_VERSION: self.version,
            names.HOST_NAME: socket.gethostname(),
            names.POOL: self.pool,
            names.COHORT: self.cohort,
            names.GPUS: self.gpus,
            **{names.COMPAT_PREFIX + name: value for name, value in self.compat.items()},
        }
        return Resource.create({name: value for name, value in known.items() if value is not None})


@cache
def _process_name(pid: int) -> str:
    """One name for all that a process sends, spans and metrics alike."""
    return f"{socket.gethostname()}-{pid}-{uuid.uuid4().hex[:8]}"


def trace_provider(worker: Worker, endpoint: str, headers: Sequence[tuple[str, str]] = ()) -> TracerProvider:
    """A provider that sends spans to `endpoint` (such as http://127.0.0.1:4317) off the caller's thread."""
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    provider = TracerProvider(resource=worker.resource(), id_generator=EntropyIds(), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=endpoint, insecure=is_plain(endpoint), headers=headers or None)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=EXPORT_EVERY_MS))
    return provider


def is_plain(endpoint: str) -> bool:
    """Whether an OTLP/gRPC endpoint is reached without TLS: all but `https://`."""
    return not endpoint.startswith("https://")
