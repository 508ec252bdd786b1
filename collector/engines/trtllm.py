"""TensorRT-LLM disaggregated: the metrics of its workers and of its proxy.

Read off its source. The proxy's names carry no prefix, so each is read only where its context says so.
"""

from collector.engines.rules import Adapter
from collector.engines.signals import SignalRule, UnmappedMetric

_SIGNALS = (
    SignalRule("trtllm_num_requests_running", "running", moves=True),
    SignalRule("trtllm_num_requests_waiting", "queue_depth"),
    SignalRule("trtllm_kv_cache_utilization", "kv_used_fraction"),
    SignalRule("trtllm_kv_cache_max_blocks", "kv_capacity_blocks"),
    SignalRule("trtllm_kv_cache_tokens_per_block", "kv_block_tokens"),
    SignalRule("trtllm_request_error_total", "failed_requests_total"),
    SignalRule("trtllm_num_context_requests", "running", part="context"),
    SignalRule("trtllm_num_generation_requests", "running", part="generation"),
    # The iteration statistics, as exporters outside the engine name them.
    SignalRule("requests_running", "running", rank=2),
    SignalRule("kv_cache_usage_ratio", "kv_used_fraction", rank=2),
    SignalRule(
        "active_requests",
        "requests_in_flight",
        note="every request the engine knows, also those it never schedules again",
    ),
    SignalRule("scheduled_context_requests", "running", part="context", rank=2),
    SignalRule("ctx_total_requests", "requests_total", part="prefill", pool="router", moves=True),
    SignalRule("gen_total_requests", "requests_total", part="decode", pool="router", moves=True),
    SignalRule("ctx_error_requests", "failed_requests_total", part="prefill", pool="router"),
    SignalRule("gen_error_requests", "failed_requests_total", part="decode", pool="router"),
    SignalRule("ctx_retry_requests", "retried_requests_total", part="prefill", pool="router"),
    SignalRule("gen_retry_requests", "retried_requests_total", part="decode", pool="router"),
)

_UNMAPPED = (
    UnmappedMetric("trtllm_time_to_first_token_seconds", "a latency of this leg alone; read as a histogram"),
    UnmappedMetric("trtllm_request_queue_time_seconds", "a latency of this leg alone; read as a histogram"),
)

ADAPTER = Adapter(
    name="trtllm",
    title="TensorRT-LLM disaggregated",
    rules=(),
    switch_on="trtllm-serve … with return_perf_metrics: true; scrape /prometheus/metrics of the proxy",
    checked_against="source",
    known_lies=("no metric tells of KV transfers or of KV that expired",),
    signals=_SIGNALS,
    unmapped=_UNMAPPED,
)
