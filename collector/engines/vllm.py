"""vLLM in prefill/decode mode behind vllm-router, with or without the traced KV connector.

Read off vLLM 0.32.0 and vllm-router 0.1.17, run for real. One `llm_request` span per engine is written when
the request finishes; its latencies mix wall-clock and monotonic clocks, so every instant built from them is
derived.
"""

from collector.engines.rules import Adapter, Between
from collector.engines.signals import InfoMetric, InfoPage, Reads, SignalRule, UnmappedMetric
from collector.engines.vllm_spans import RULES
from collector.phases import Phase

_OWN_LATENCY = "a latency of this leg alone; read as a histogram under its own name, never added over pools"
_ROUTER_VIEW = "router_view"

_SIGNALS = (
    SignalRule("vllm:num_requests_running", "running", moves=True),
    SignalRule("vllm:num_requests_waiting", "queue_depth"),
    SignalRule("vllm:num_requests_waiting_by_reason", "queue_depth", part_label="reason"),
    SignalRule(
        "vllm:num_requests_kv_fetch_by_stage",
        "queue_depth",
        part="kv_fetch",
        part_label="stage",
        pool="decode",
        note="requests on decode that wait for remote KV; they count as waiting too",
    ),
    SignalRule("vllm:kv_cache_usage_perc", "kv_used_fraction", note="a fraction 0-1 whatever its name says"),
    SignalRule(
        "vllm:gpu_cache_usage_perc", "kv_used_fraction", rank=2, note="the name before kv_cache_usage_perc"
    ),
    SignalRule(
        "vllm:cache_config_info",
        "kv_capacity_tokens",
        value_labels=("kv_cache_size_tokens",),
        where=(("kv_cache_size_tokens", "*"),),
    ),
    SignalRule(
        "vllm:cache_config_info", "kv_capacity_tokens", value_labels=("num_gpu_blocks", "block_size"), rank=2
    ),
    SignalRule("vllm:num_preemptions_total", "preemptions_total"),
    SignalRule("vllm:nixl_num_kv_expired_reqs_total", "kv_expired_total", pool="prefill"),
    SignalRule("vllm:mooncake_num_kv_expired_reqs_total", "kv_expired_total", pool="prefill"),
    SignalRule(
        "vllm:nixl_num_notifications_after_expiry_total",
        "late_kv_reads_total",
        pool="prefill",
        note="decode read KV whose lease had ended; moves only when prefill next works",
    ),
    SignalRule("vllm:nixl_num_failed_transfers_total", "transfer_failures_total", pool="decode"),
    SignalRule(
        "vllm:nixl_num_failed_notifications_total", "transfer_failed_notifications_total", pool="decode"
    ),
    SignalRule(
        "vllm:nixl_bytes_transferred", "transfer_bytes_total", reads=Reads.SUM, pool="decode", moves=True
    ),
    SignalRule(
        "vllm:nixl_xfer_time_seconds", "transfer_seconds_sum", reads=Reads.SUM, pool="decode", moves=True
    ),
    SignalRule(
        "vllm:nixl_xfer_time_seconds", "transfer_seconds_count", reads=Reads.COUNT, pool="decode", moves=True
    ),
    SignalRule("vllm:prompt_tokens_total", "prompt_tokens_total", moves=True),
    SignalRule(
        "vllm:prompt_tokens_by_source_total",
        "prompt_tokens_total",
        part="local",
        where=(("source", "local_compute"),),
    ),
    SignalRule(
        "vllm:prompt_tokens_by_source_total",
        "prompt_tokens_total",
        part="cache",
        where=(("source", "local_cache_hit"),),
    ),
    SignalRule(
        "vllm:prompt_tokens_by_source_total",
        "prompt_tokens_total",
        part="remote",
        where=(("source", "external_kv_transfer"),),
    ),
    SignalRule("vllm:generation_tokens_total", "generation_tokens_total", moves=True),
    SignalRule(
        "vllm:request_success_total",
        "aborted_requests_total",
        where=(("finished_reason", "abort"),),
        note="aborted requests often leave no trace here",
    ),
    SignalRule("vllm:request_success_total", "failed_requests_total", where=(("finished_reason", "error"),)),
    SignalRule("vllm:admission_rejections_total", "rejected_requests_total", part_label="reason"),
    SignalRule(
        "vllm_router_pd_pending_decode_requests",
        "queue_depth",
        part=_ROUTER_VIEW,
        worker_labels=("worker",),
        pool="decode",
    ),
    SignalRule(
        "vllm_router_pd_active_decode_requests",
        "running",
        part=_ROUTER_VIEW,
        worker_labels=("worker",),
        pool="decode",
    ),
    SignalRule(
        "vllm_router_pd_prefill_occupancy",
        "running",
        part=_ROUTER_VIEW,
        worker_labels=("worker",),
        pool="prefill",
    ),
    SignalRule("vllm_router_pd_requests_total", "requests_total", pool="router", moves=True),
    SignalRule("vllm_router_pd_prefill_errors_total", "failed_requests_total", part="prefill", pool="router"),
    SignalRule("vllm_router_pd_decode_errors_total", "failed_requests_total", part="decode", pool="router"),
    SignalRule("vllm_router_retries_total", "retried_requests_total", pool="router"),
    SignalRule("vllm_router_worker_health", "up", worker_labels=("worker",)),
)

_UNMAPPED = (
    UnmappedMetric("vllm:time_to_first_token_seconds", _OWN_LATENCY),
    UnmappedMetric("vllm:request_queue_time_seconds", _OWN_LATENCY),
    UnmappedMetric("vllm:request_prefill_time_seconds", _OWN_LATENCY),
    UnmappedMetric("vllm:request_decode_time_seconds", _OWN_LATENCY),
    UnmappedMetric("vllm:inter_token_latency_seconds", _OWN_LATENCY),
    UnmappedMetric("vllm:request_time_per_output_token_seconds", _OWN_LATENCY),
    UnmappedMetric("vllm:e2e_request_latency_seconds", _OWN_LATENCY),
    UnmappedMetric(
        "vllm:nixl_post_time_seconds",
        "part of the transfer time; read as a histogram against nixl_xfer_time_seconds",
    ),
    UnmappedMetric("vllm:nixl_num_descriptors", "a size, not a load; read as a histogram"),
)

ADAPTER = Adapter(
    name="vllm",
    title="vLLM with vllm-router",
    rules=RULES,
    between=(
        Between(
            "request_start", "prefill_dispatch", (Phase.ROUTER_QUEUE,), "router's own time before dispatch"
        ),
        # A process that stands still, or has too much to do, has yet to take what was sent to it.
        Between(
            "prefill_dispatch",
            "prefill_arrival",
            (Phase.TOKENIZE, Phase.PREFILL_QUEUE),
            "sent to prefill, which has yet to take it",
        ),
        Between(
            "decode_dispatch",
            "decode_arrival",
            (Phase.TOKENIZE, Phase.DECODE_QUEUE),
            "sent to decode, which has yet to take it",
        ),
        Between(
            "decode_arrival",
            "decode_allocated",
            (Phase.DECODE_QUEUE,),
            "decode had it, blocks not yet allocated",
        ),
        Between(
            "decode_imported",
            "decode_scheduled",
            (Phase.DECODE_QUEUE,),
            "its KV was there, decode had yet to schedule it",
        ),
    ),
    kv_lease_s=30.0,
    switch_on=(
        "vllm serve … --otlp-traces-endpoint http://HOST:4317; "
        "vllm_router_rs.Router(enable_trace=True, otlp_traces_endpoint=…)"
    ),
    metrics_on="a page of the engine itself: http://HOST:8000/metrics",
    checked_against="live captures of vLLM 0.32.0 and vllm-router 0.1.17",
    signals=_SIGNALS,
    unmapped=_UNMAPPED,
    info=(
        InfoMetric(
            "vllm:cache_config_info",
            (
                ("block_size", "block_size"),
                ("cache_dtype", "kv_dtype"),
                ("kv_cache_layout", "kv_layout"),
            ),
        ),
    ),
    # Its connectors come with it, but number their protocol themselves: the traced one tells that.
    pages=(
        InfoPage(("/version",), (("version", "service.version"), ("version", "pd.compat.engine_version"))),
    ),
    known_lies=(
        "a failed KV load leaves impossible queue and prefill times on the span",
        "the router's client spans end late by up to 26 s; their starts and the server span are good",
        "decode's queue time includes the wait for KV",
        "span ids collide between instances",
        "the router's latency and metrics stop at the response's headers",
        "a stream broken by a dead decode worker still shows 200; aborted requests often leave no "
        "engine span",
        "time_in_queue leaves out the hand-off from the API process to the engine core",
        "decode may read KV after its lease: the answer is complete, only "
        "nixl_num_notifications_after_expiry tells",
        "a Mooncake, LMCache or P2P connector emits no span of its own: the hand-off is only bounded",
        "each of several choices (n) has a span of its own, alike but for its tokens: those of one are told",
        "each of several choices (n) offers KV that decode reads under another name: it is an orphan until "
        "its lease ends",
    ),
)
