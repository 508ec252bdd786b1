"""Take one signal away from a scenario's telemetry: a phase, an attribute, metrics, a process, a clock.

Works on the exports as bytes, so it can remove nothing a real deployment could not also lack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

from .otlp import Export

PHASES = (
    "router_queue",
    "tokenize",
    "prefill_queue",
    "prefill_compute",
    "kv_publish",
    "kv_transfer",
    "decode_queue",
    "kv_import",
    "first_decode_step",
    "network_streaming",
    "decode",
    "kv_release",
)
ATTRIBUTES = (
    "pd.kv.link_gb_s",
    "pd.kv.descriptors",
    "pd.kv.post_ms",
    "pd.kv.wait_ms",
    "pd.kv.transport",
    "pd.kv.bytes",
    "pd.kv.tokens_already_held",
    "pd.kv.lease_expires_unix_nano",
    "pd.kv.status",
    "pd.kv.transfer_id",
    "pd.local_prompt_tokens",
    "pd.stream.stalled_ms",
    "pd.attempt",
    "pd.cached_tokens",
    "process.creation.time",
)
POOLS = ("router", "prefill", "decode", "colocated")


@dataclass(frozen=True)
class Signal:
    """Something that can be missing: phase, attribute, event, metrics, process or clock, and which."""

    kind: str
    which: str

    @property
    def name(self) -> str:
        """As reports print it."""
        return f"{self.kind}:{self.which}"


SIGNALS: tuple[Signal, ...] = (
    *(Signal("phase", phase) for phase in PHASES),
    *(Signal("attribute", key) for key in ATTRIBUTES),
    Signal("event", "preempted"),
    Signal("metrics", "all"),
    Signal("metrics", "prefill"),
    Signal("metrics", "decode"),
    Signal("process", "prefill"),
    Signal("process", "decode"),
    Signal("clock", "prefill"),
    Signal("clock", "decode"),
)


def present(exports: list[Export]) -> list[Signal]:
    """The signals of SIGNALS that these exports have, so that taking one away changes something."""
    seen: set[tuple[str, str]] = {("metrics", "all")}
    for resource, span in _spans(exports):
        pool = _pool(resource)
        seen |= {
            ("process", pool),
            ("clock", pool),
            ("metrics", pool),
            ("phase", span.name.removeprefix("pd.")),
        }
        seen |= {("attribute", a.key) for a in span.attributes} | {("event", e.name) for e in span.events}
        seen |= {("attribute", a.key) for a in resource.resource.attributes}
    return [signal for signal in SIGNALS if (signal.kind, signal.which) in seen]


def ablated(exports: list[Export], seed: int, index: int) -> tuple[list[Export], str]:
    """The exports of a scenario less one signal drawn at random, and its name."""
    rng = np.random.default_rng([seed, index, 99])
    signals = present(exports)
    signal = signals[int(rng.integers(len(signals)))]
    return without(exports, signal, rng), signal.name


def without(exports: list[Export], signal: Signal, rng: np.random.Generator) -> list[Export]:
    """The same exports less one signal. Of `process` and `clock`, one instance of the pool at random."""
    if signal == Signal("metrics", "all"):
        return [export for export in exports if export.kind == "traces"]
    if signal.kind == "metrics":
        return [_less_metrics(export, signal.which) for export in exports]
    change = _change(exports, signal, rng)
    return [_edited(export, change) if export.kind == "traces" else export for export in exports]


Change = Callable[[ResourceSpans], None]


def _change(exports: list[Export], signal: Signal, rng: np.random.Generator) -> Change:
    if signal.kind == "phase":
        return _less_spans(lambda resource, span: span.name == f"pd.{signal.which}")
    if signal.kind == "attribute":
        return _less_attribute(signal.which)
    if signal.kind == "event":
        return _less_event(signal.which)
    instances = sorted(
        {_value(r, "service.instance.id") for r, _ in _spans(exports) if _pool(r) == signal.which}
    )
    chosen = instances[int(rng.integers(len(instances)))]
    if signal.kind == "process":
        return _less_spans(lambda resource, span: _value(resource, "service.instance.id") == chosen)
    return _shifted(chosen, int(rng.choice([-1, 1]) * rng.uniform(2e7, 3e8)))


def _edited(export: Export, change: Change) -> Export:
    request = ExportTraceServiceRequest.FromString(export.body)
    for resource in request.resource_spans:
        change(resource)
    left = sum(len(scope.spans) for resource in request.resource_spans for scope in resource.scope_spans)
    return Export("traces", request.SerializeToString(deterministic=True), left)


def _less_spans(drop: Callable[[ResourceSpans, Span], bool]) -> Change:
    def change(resource: ResourceSpans) -> None:
        for scope in resource.scope_spans:
            kept = [span for span in scope.spans if not drop(resource, span)]
            del scope.spans[:]
            scope.spans.extend(kept)

    return change


def _drop_key(attributes: Any, key: str) -> None:
    for i in reversed([i for i, attribute in enumerate(attributes) if attribute.key == key]):
        del attributes[i]


def _less_attribute(key: str) -> Change:
    def change(resource: ResourceSpans) -> None:
        _drop_key(resource.resource.attributes, key)
        for scope in resource.scope_spans:
            for span in scope.spans:
                _drop_key(span.attributes, key)

    return change


def _less_event(name: str) -> Change:
    def change(resource: ResourceSpans) -> None:
        for scope in resource.scope_spans:
            for span in scope.spans:
                kept = [event for event in span.events if event.name != name]
                del span.events[:]
                span.events.extend(kept)

    return change


def _shifted(instance: str, by: int) -> Change:
    def change(resource: ResourceSpans) -> None:
        if _value(resource, "service.instance.id") != instance:
            return
        for scope in resource.scope_spans:
            for span in scope.spans:
                span.start_time_unix_nano += by
                span.end_time_unix_nano += by
                for event in span.events:
                    event.time_unix_nano += by
                for attribute in span.attributes:
                    if attribute.key == "pd.kv.lease_expires_unix_nano":
                        attribute.value.int_value += by

    return change


def _less_metrics(export: Export, pool: str) -> Export:
    if export.kind == "traces":
        return export
    request = ExportMetricsServiceRequest.FromString(export.body)
    kept = [resource for resource in request.resource_metrics if _pool(resource) != pool]
    del request.resource_metrics[:]
    request.resource_metrics.extend(kept)
    return Export("metrics", request.SerializeToString(deterministic=True), export.items)


def _spans(exports: list[Export]) -> Iterator[tuple[ResourceSpans, Span]]:
    for export in exports:
        if export.kind == "traces":
            for resource in ExportTraceServiceRequest.FromString(export.body).resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        yield resource, span


def _value(resource: Any, key: str) -> str:
    return next((str(a.value.string_value) for a in resource.resource.attributes if a.key == key), "")


def _pool(resource: Any) -> str:
    return _value(resource, "pd.pool")
