"""SGLang: its engines' stage spans and metrics, and the metrics of its gateways (sglang-router, smg).

Read off SGLang 0.5.23's source; the gateways' metrics off live runs of sglang-router 0.3.2 and smg 1.13.0.
The spans are in `sglang_spans.py`.
"""

from collector.engines.rules import Adapter, Between, Source
from collector.engines.sglang_spans import DECODE_FORWARD, RETRACTED, RULES, TAKEN_UP
from collector.engines.signals import InfoPage, Reads, SignalRule, UnmappedMetric
from collector.phases import Phase

_RANKS = ("tp_rank", "pp_rank", "moe_ep_rank")
"""Every rank of a worker exports the same figures; only data-parallel ranks add up."""

_MIB = 1048576.0


def _engine(
    metric: str,
    signal: str,
    *,
    scale: float = 1.0,
    reads: Reads = Reads.VALUE,
    part: str = "",
    part_label: str = "",
    pool: str = "",
    rank: int = 1,
    moves: bool = False,
    note: str = "",
) -> SignalRule:
    return SignalRule(
        metric,
        signal,
        scale,
        reads,
        part=part,
        part_label=part_label,
        pool_label="engine_type",
        pool=pool,
        repeated_by=_RANKS,
        rank=rank,
        moves=moves,
        note=note,
    )


_ENGINE = (
    _engine("sglang:num_running_reqs", "running", moves=True),
    _engine("sglang:num_queue_reqs", "queue_depth"),
    _engine("sglang:num_prefill_bootstrap_queue_reqs", "queue_depth", part="bootstrap", pool="prefill"),
    _engine(
        "sglang:num_prefill_inflight_queue_reqs",
        "queue_depth",
        part="transferring",
        pool="prefill",
        note="prefilled requests whose KV decode has not taken yet: they hold KV and wait for no compute",
    ),
    _engine(
        "sglang:num_decode_prealloc_queue_reqs",
        "queue_depth",
        part="prealloc",
        pool="decode",
        note="holds requests whose prefill is not done: prefill's backlog seen from decode",
    ),
    _engine("sglang:num_decode_transfer_queue_reqs", "queue_depth", part="transfer", pool="decode"),
    _engine("sglang:num_decode_host_receive_queue_reqs", "queue_depth", part="host_receive", pool="decode"),
    _engine(
        "queues.prealloc_ready",
        "queue_depth",
        part="prealloc_ready",
        pool="decode",
        note="from /v1/loads: requests of the prealloc queue that only wait for decode",
    ),
    _engine("sglang:token_usage", "kv_used_fraction"),
    _engine("sglang:full_token_usage", "kv_used_fraction", rank=2),
    _engine("sglang:max_total_num_tokens", "kv_capacity_tokens"),
    _engine("sglang:kv_used_tokens", "kv_used_tokens"),
    _engine("sglang:num_retracted_requests_total", "preemptions_total"),
    _engine("sglang:num_aborted_requests_total", "aborted_requests_total"),
    _engine("sglang:num_prefill_retries_total", "retried_requests_total", pool="prefill"),
    _engine("sglang:num_transfer_failed_reqs_total", "transfer_failures_total"),
    _engine("sglang:num_bootstrap_failed_reqs_total", "transfer_failures_total", part="bootstrap"),
    _engine("sglang:kv_transfer_timeouts_total", "kv_expired_total", part_label="stage"),
    _engine(
        "sglang:kv_transfer_total_mb",
        "transfer_bytes_total",
        scale=_MIB,
        reads=Reads.SUM,
        pool="prefill",
        moves=True,
        note="MiB; older releases export a gauge of the last transfer under this name, which is not read",
    ),
    _engine(
        "sglang:kv_transfer_total_mb_sum", "transfer_bytes_total", scale=_MIB, pool="prefill", moves=True
    ),
    _engine(
        "sglang:kv_transfer_latency_ms",
        "transfer_seconds_sum",
        scale=0.001,
        reads=Reads.SUM,
        pool="prefill",
        moves=True,
        note="milliseconds; may hold only the last chunk's time",
    ),
    _engine(
        "sglang:kv_transfer_latency_ms",
        "transfer_seconds_count",
        reads=Reads.COUNT,
        pool="prefill",
        moves=True,
    ),
    _engine("sglang:gen_throughput", "generation_tokens_per_s", moves=True),
    _engine("sglang:prompt_tokens_total", "prompt_tokens_total", moves=True),
    _engine("sglang:generation_tokens_total", "generation_tokens_total", moves=True),
    _engine("sglang:cache_hit_rate", "prefix_hit_fraction"),
)

_GATEWAY = (
    SignalRule("smg_router_requests_total", "requests_total", pool="router", moves=True),
    SignalRule(
        "smg_worker_requests_active", "running", part="router_view", worker_labels=("worker",), pool="router"
    ),
    SignalRule("smg_worker_health", "up", worker_labels=("worker",)),
    SignalRule("smg_worker_retries_total", "retried_requests_total", part_label="worker_type", pool="router"),
    SignalRule("smg_worker_errors_total", "failed_requests_total", part_label="worker_type", pool="router"),
    SignalRule("smg_pd_kv_transfer_failures_total", "transfer_failures_total", pool="router"),
    SignalRule(
        "smg_pd_rendezvous_failures_total",
        "transfer_failures_total",
        part="rendezvous",
        part_label="leg",
        pool="router",
    ),
    SignalRule("smg_admission_queue_depth", "queue_depth", pool="router"),
    SignalRule("smg_pd_prefill_admission_queued", "queue_depth", part="prefill_admission", pool="router"),
    SignalRule("smg_pd_admission_sheds_total", "rejected_requests_total", pool="router"),
    SignalRule("smg_admission_inflight", "requests_in_flight", pool="router"),
)

_UNMAPPED = (
    UnmappedMetric(
        "sglang:kv_transfer_speed_gb_s",
        "a ratio the engine forms itself, seen above the line rate; read as a histogram, to be compared",
    ),
    UnmappedMetric(
        "sglang:decode_deferred_kv_release_total",
        "pages that decode keeps a while after an abort: nearly all are given back in order",
    ),
    UnmappedMetric("sglang:kv_transfer_bootstrap_ms", "a latency; read as a histogram"),
    UnmappedMetric("sglang:kv_transfer_alloc_ms", "a latency; read as a histogram"),
    UnmappedMetric("sglang:time_to_first_token_seconds", "a latency of this leg alone; read as a histogram"),
    UnmappedMetric(
        "smg_pd_kv_transfer_duration_seconds", "relay time between the legs, not time on the wire"
    ),
)

ADAPTER = Adapter(
    name="sglang",
    title="SGLang",
    rules=RULES,
    between=(
        # Below trace level 3 no span shows the first step.
        Between(
            DECODE_FORWARD,
            "first_token",
            (Phase.FIRST_DECODE_STEP,),
            "from decode's first forward to the token that was sent",
            Source.DERIVED,
        ),
        # Told below level 3: when it was retracted, not when it went on.
        Between(RETRACTED, TAKEN_UP, (), "from a retraction until a batch took it in again"),
    ),
    # Prefill gives up a request that decode has not shaken hands for (…_DISAGGREGATION_BOOTSTRAP_TIMEOUT).
    kv_lease_s=300.0,
    switch_on=(
        "python -m sglang.launch_server … --enable-trace --otlp-traces-endpoint HOST:4317 "
        "--trace-modules request,mooncake --enable-metrics, with SGLANG_TRACE_LEVEL=3"
    ),
    metrics_on="--enable-metrics",
    checked_against=(
        "source of SGLang 0.5.23, spans built in its shape; metrics against live captures of "
        "sglang-router 0.3.2 "
        "and smg 1.13.0"
    ),
    known_lies=(
        "num_decode_prealloc_queue_reqs on decode counts requests whose prefill has not finished",
        "kv_transfer_speed_gb_s divides by the last chunk's time alone when the backend tells no other",
        "every tensor-parallel rank repeats the same transfers and the same stage spans",
        "decode_transferred runs from the moment decode is ready: it holds the remote prefill, not "
        "wire time alone",
        "prefill_transfer_kv_cache is not emitted when the transfer fails, and starts after the last chunk",
        "trace ids that SGLang makes have an upper half of zeros",
        "the mooncake sender has a trace of its own, tied to the request by the bootstrap room alone",
        "decode tokenizes the prompt again beside prefill",
        "a retraction is told when it begins; when the request goes on, by the steps of trace level 3 alone",
    ),
    signals=(*_ENGINE, *_GATEWAY),
    unmapped=_UNMAPPED,
    pages=(
        InfoPage(
            ("/server_info", "/get_server_info"),
            (
                ("disaggregation_mode", "pd.pool"),
                ("tp_size", "pd.compat.tp"),
                ("pp_size", "pd.compat.pp"),
                ("page_size", "pd.compat.block_size"),
                ("kv_cache_dtype", "pd.compat.kv_dtype"),
                ("revision", "pd.compat.model_revision"),
                ("tokenizer_path", "pd.compat.tokenizer"),
                ("disaggregation_transfer_backend", "pd.compat.connector"),
                ("version", "pd.compat.connector_version"),
                ("version", "service.version"),
            ),
            words=(("prefill", "prefill"), ("decode", "decode"), ("null", "colocated")),
        ),
    ),
)
