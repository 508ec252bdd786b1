"""NVIDIA Dynamo: KV-router and round-robin modes, lifecycle mode, and its request trace records.

Read off Dynamo 1.6.1, run for real with its mock engine. The frontend measures the first token; no span
separates prefill's queue, compute and the KV hand-off, so those are kept as composites.
"""

from collector.engines.dynamo_spans import RULES
from collector.engines.rules import Adapter, Between, Source
from collector.engines.signals import Reads, SignalRule, UnmappedMetric
from collector.phases import Phase

_WORKER = ("hex:worker_id",)
_GENERATE = (("dynamo_endpoint", "generate"),)

_SIGNALS = (
    SignalRule("dynamo_frontend_inflight_requests", "requests_in_flight", pool="router", moves=True),
    SignalRule("dynamo_frontend_active_requests", "requests_in_flight", pool="router", rank=2),
    SignalRule("dynamo_frontend_queued_requests", "queue_depth", pool="router"),
    SignalRule(
        "dynamo_frontend_router_queue_pending_requests",
        "queue_depth",
        part="router_queue",
        part_label="worker_type",
        pool="router",
    ),
    SignalRule(
        "dynamo_frontend_requests_total", "requests_total", part_label="status", pool="router", moves=True
    ),
    SignalRule(
        "dynamo_frontend_disconnected_clients",
        "cancelled_requests_total",
        pool="router",
        note="a gauge that only climbs: clients that left",
    ),
    SignalRule(
        "dynamo_frontend_model_cancellation_total", "cancelled_requests_total", part="model", pool="router"
    ),
    SignalRule("dynamo_frontend_model_rejection_total", "rejected_requests_total", pool="router"),
    SignalRule(
        "dynamo_frontend_router_admission_rejected_total",
        "rejected_requests_total",
        part_label="reason",
        pool="router",
    ),
    SignalRule(
        "dynamo_frontend_model_migration_total",
        "retried_requests_total",
        part_label="migration_type",
        pool="router",
    ),
    SignalRule("dynamo_frontend_output_tokens_total", "generation_tokens_total", pool="router", moves=True),
    SignalRule("dynamo_frontend_model_total_kv_blocks", "kv_capacity_blocks", pool="router"),
    SignalRule("dynamo_frontend_model_kv_cache_block_size", "kv_block_tokens", pool="router"),
    SignalRule(
        "dynamo_component_inflight_requests",
        "running",
        where=_GENERATE,
        worker_labels=_WORKER,
        pool_label="dynamo_component",
        moves=True,
        note="holds the worker's own queue too; its hexadecimal worker ids are the decimal ones of spans",
    ),
    SignalRule(
        "dynamo_component_requests_total",
        "requests_total",
        where=_GENERATE,
        worker_labels=_WORKER,
        pool_label="dynamo_component",
        moves=True,
    ),
    SignalRule(
        "dynamo_component_errors_total",
        "failed_requests_total",
        where=_GENERATE,
        worker_labels=_WORKER,
        pool_label="dynamo_component",
    ),
    SignalRule(
        "dynamo_component_cancellation_total",
        "aborted_requests_total",
        where=_GENERATE,
        worker_labels=_WORKER,
        pool_label="dynamo_component",
    ),
    SignalRule("dynamo_work_handler_queue_depth", "queue_depth"),
    SignalRule("trtllm_kv_transfer_bytes", "transfer_bytes_total", reads=Reads.SUM, pool="decode"),
    SignalRule("trtllm_kv_transfer_latency_seconds", "transfer_seconds_sum", reads=Reads.SUM, pool="decode"),
    SignalRule(
        "trtllm_kv_transfer_latency_seconds", "transfer_seconds_count", reads=Reads.COUNT, pool="decode"
    ),
    SignalRule("planner_prefill_replicas", "replicas_wanted", part="prefill", pool="router"),
    SignalRule("planner_decode_replicas", "replicas_wanted", part="decode", pool="router"),
)

_UNMAPPED = (
    UnmappedMetric(
        "dynamo_component_router_kv_transfer_estimated_latency_seconds",
        "an upper bound from prefill's end to the first token, not a transfer time; read as a histogram",
    ),
    UnmappedMetric(
        "dynamo_component_router_time_to_first_token_seconds", "counts prefill and decode, two per request"
    ),
    UnmappedMetric(
        "dynamo_frontend_worker_active_prefill_tokens", "tokens by a decimal worker id, not requests"
    ),
    UnmappedMetric(
        "dynamo_frontend_worker_active_decode_blocks", "blocks by a decimal worker id, without their number"
    ),
)

ADAPTER = Adapter(
    name="dynamo",
    title="NVIDIA Dynamo",
    rules=RULES,
    between=(
        Between(
            "request_start",
            "dynamo_dispatch",
            (Phase.ROUTER_QUEUE, Phase.TOKENIZE),
            "Dynamo's preprocessing before its first router span",
            Source.BOUNDED,
        ),
        # The worker's span ends with its last token, whether or not the client takes them.
        Between(
            "first_token",
            "engine_end",
            (Phase.DECODE,),
            "from the first token that was sent to the end of the decode worker's span",
        ),
    ),
    switch_on=(
        "OTEL_EXPORT_ENABLED=1 OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://HOST:4317 DYN_LOGGING_JSONL=1; "
        "DYN_REQUEST_TRACE=1 DYN_REQUEST_TRACE_SINKS=file for what spans leave out of cancelled requests"
    ),
    metrics_on="DYN_SYSTEM_PORT=8081 for each worker (http://HOST:8081/metrics)",
    checked_against=("live runs and captures of Dynamo 1.6.1, captures of 1.4.2, with its mock engine"),
    signals=_SIGNALS,
    unmapped=_UNMAPPED,
    known_lies=(
        "kv_transfer_estimated_latency_ms is always 0 in bootstrap mode",
        "the request trace's ttft_ms stops at prefill's first token",
        "after a migration http-request says success with status ERROR and names the dead worker",
        "debug logging makes spans end in error although every token came",
        "a queue inside the prefill worker inflates its time while queue_depth stays 0",
        "dynamo_component_router_time_to_first_token_seconds counts every request twice",
        "decode's handle_payload looks well when its prefill worker was killed",
        "a prefill worker over its session limit is called connection_failed: nothing of the network failed",
        "/v1/completions: tokens of an answer in one piece are told by the request trace alone",
        "/v1/completions: of several prompts in one request the tokens of one are told",
        "completions_single calls an answer in one piece a success although its client left before it",
    ),
)
