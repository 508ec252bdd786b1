"""vLLM in prefill/decode mode behind vllm-router, with or without the traced KV connector.

Read off vLLM 0.32.0 and vllm-router 0.1.17, run for real. One `llm_request` span per engine is written when
the request finishes; its latencies mix wall-clock and monotonic clocks, so every instant built from them is
derived.
"""

from collector.engines.rules import (
    END,
    START,
    Adapter,
    Between,
    Composite,
    Fact,
    IdForm,
    Instant,
    Interval,
    Kv,
    KvEvent,
    Mark,
    Role,
    Root,
    Source,
    SpanRule,
)
from collector.engines.signals import InfoMetric, InfoPage, Reads, SignalRule, UnmappedMetric
from collector.phases import Phase

_S = 1e9
_TTFT = "gen_ai.latency.time_to_first_token"
_PREFILL = "gen_ai.latency.time_in_model_prefill"
_DECODE = "gen_ai.latency.time_in_model_decode"

_FIRST_TOKEN = Instant("start", ((_TTFT, _S),))
_SCHEDULED = Instant("start", ((_TTFT, _S), (_PREFILL, -_S)))
_LAST_TOKEN = Instant("start", ((_TTFT, _S), (_DECODE, _S)))

_LLM_REQUEST = SpanRule(
    span="llm_request",
    root=Root.FALLBACK,
    ids=("gen_ai.request.id",),
    id_form=IdForm.RESPONSE,
    intervals=(
        # Arrival to first scheduled: the hand-off from the API process to the engine core is part of it.
        Interval(Phase.PREFILL_QUEUE, START, _SCHEDULED, Source.DERIVED, Role.PREFILL),
        Interval(Phase.PREFILL_COMPUTE, _SCHEDULED, _FIRST_TOKEN, Source.DERIVED, Role.PREFILL),
        Composite(
            (Phase.KV_TRANSFER, Phase.DECODE_QUEUE, Phase.KV_IMPORT),
            "vLLM's decode queue time holds the wait for KV",
            START,
            _SCHEDULED,
            Role.DECODE,
        ),
        Interval(Phase.FIRST_DECODE_STEP, _SCHEDULED, _FIRST_TOKEN, Source.DERIVED, Role.DECODE),
        Interval(Phase.DECODE, _FIRST_TOKEN, _LAST_TOKEN, Source.DERIVED, Role.DECODE),
        Interval(Phase.PREFILL_QUEUE, START, _SCHEDULED, Source.DERIVED, Role.COLOCATED),
        Interval(Phase.PREFILL_COMPUTE, _SCHEDULED, _FIRST_TOKEN, Source.DERIVED, Role.COLOCATED),
        Interval(Phase.DECODE, _FIRST_TOKEN, _LAST_TOKEN, Source.DERIVED, Role.COLOCATED),
    ),
    marks=(
        Mark("engine_start", START),
        Mark("engine_end", END, role=Role.DECODE),
        Mark("engine_end", END, role=Role.COLOCATED),
        Mark("decode_arrival", START, role=Role.DECODE),
        Mark("first_token", _FIRST_TOKEN, rank=3, role=Role.DECODE),
        Mark("first_token", _FIRST_TOKEN, rank=3, role=Role.COLOCATED),
        Mark("last_token", _LAST_TOKEN, rank=3, role=Role.DECODE),
        Mark("last_token", _LAST_TOKEN, rank=3, role=Role.COLOCATED),
    ),
    facts=(
        Fact("request_id", "gen_ai.request.id", rank=2),
        Fact("input_tokens", "gen_ai.usage.prompt_tokens", rank=2),
        Fact("output_tokens", "gen_ai.usage.completion_tokens", role=Role.DECODE, rank=2),
        Fact("output_tokens", "gen_ai.usage.completion_tokens", role=Role.COLOCATED, rank=2),
    ),
)

_STARTS_UP = "the engine starting: one trace a process, no request"

_START_UP = (
    *(
        SpanRule(span=span, ignored=_STARTS_UP)
        for span in (
            "AsyncMPClient init",
            "EngineCoreProc init",
            "Executor init",
            "Worker init",
            "Overall Loading",
            "Load model",
            "Load weights",
            "Initialize model",
            "Prepare model",
            "Allocate KV cache",
        )
    ),
    SpanRule(prefix="Loading (", ignored=_STARTS_UP),
)

_ROUTER_SERVER = SpanRule(
    scope="vllm-router",
    kind=2,
    root=Root.REQUEST,
    plays=(((), Role.ROUTER),),
    marks=(Mark("request_start", START), Mark("request_end", END)),
    facts=(
        Fact("client_request_id", "request_id"),
        Fact("request_id", "request_id", rank=3),
        Fact("route", "http.route"),
        Fact("http_status", "http.response.status_code"),
        # The router notes a status for every answer it gave: without one the client had left.
        Fact(
            "outcome", value="cancelled", rank=2, where=(("http.response.status_code", ""), ("@status", "0"))
        ),
    ),
)

_ROUTER_CLIENT = SpanRule(
    scope="vllm-router",
    kind=3,
    plays=(((), Role.ROUTER),),
    calls=(
        ((("vllm.request_phase", "prefill"),), Role.PREFILL),
        ((("vllm.request_phase", "decode"),), Role.DECODE),
    ),
    marks=(
        Mark("prefill_dispatch", START, where=(("vllm.request_phase", "prefill"),)),
        Mark("decode_dispatch", START, where=(("vllm.request_phase", "decode"),)),
    ),
    facts=(
        Fact("prefill_host", "server.address", where=(("vllm.request_phase", "prefill"),)),
        Fact("prefill_port", "server.port", where=(("vllm.request_phase", "prefill"),)),
        Fact("decode_host", "server.address", where=(("vllm.request_phase", "decode"),)),
        Fact("decode_port", "server.port", where=(("vllm.request_phase", "decode"),)),
    ),
)


def _kv_span(
    span: str,
    role: Role,
    intervals: tuple[Interval, ...] = (),
    marks: tuple[Mark, ...] = (),
    kv: tuple[Kv, ...] = (),
    ignored: str = "",
) -> SpanRule:
    return SpanRule(
        span=span,
        ids=("gen_ai.request.id",),
        id_form=IdForm.ENGINE,
        plays=(((), role),),
        intervals=intervals,
        marks=marks,
        kv=kv,
        ignored=ignored,
        needs="a KV connector that emits spans",
    )


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
    rules=(
        _LLM_REQUEST,
        _ROUTER_SERVER,
        _ROUTER_CLIENT,
        # The span covers the whole production; the offer itself is its last instant.
        _kv_span(
            "kv.publish",
            Role.PREFILL,
            intervals=(Interval(Phase.KV_PUBLISH, END, END),),
            kv=(
                Kv(
                    KvEvent.PUBLISH,
                    start=END,
                    numbers=(("tokens", "kv.num_prompt_tokens", 1.0), ("lease_s", "kv.lease_s", 1.0)),
                ),
            ),
        ),
        _kv_span(
            "kv.transfer",
            Role.DECODE,
            intervals=(Interval(Phase.KV_TRANSFER),),
            kv=(
                Kv(
                    KvEvent.TRANSFER,
                    text=(("rank", "tp.rank"),),
                    numbers=(
                        ("bytes", "kv.bytes", 1.0),
                        ("descriptors", "kv.descriptors", 1.0),
                        ("post_ns", "nixl.post_us", 1e3),
                    ),
                ),
            ),
        ),
        _kv_span(
            "kv.import",
            Role.DECODE,
            intervals=(Interval(Phase.KV_IMPORT),),
            marks=(Mark("decode_allocated", START),),
            kv=(
                Kv(
                    KvEvent.IMPORT,
                    numbers=(
                        ("tokens", "kv.num_external_tokens", 1.0),
                        ("already_held_tokens", "kv.num_local_cached_tokens", 1.0),
                    ),
                ),
            ),
        ),
        # How the producer's copy ended, at the span's end: pulled, or its lease ran out.
        _kv_span(
            "kv.serve",
            Role.PREFILL,
            kv=(
                Kv(
                    KvEvent.RELEASE,
                    start=END,
                    text=(("reason", "=imported"), ("rank", "tp.rank")),
                    where=(("kv.outcome", "pulled"),),
                ),
                Kv(
                    KvEvent.RELEASE,
                    start=END,
                    text=(("reason", "=expired"), ("rank", "tp.rank")),
                    where=(("kv.outcome", "expired"),),
                ),
            ),
        ),
        _kv_span("kv.lease", Role.PREFILL, ignored="the same time as kv.serve, seen from the scheduler"),
        *_START_UP,
    ),
    between=(
        Between(
            "request_start", "prefill_dispatch", (Phase.ROUTER_QUEUE,), "router's own time before dispatch"
        ),
        Between(
            "decode_arrival",
            "decode_allocated",
            (Phase.DECODE_QUEUE,),
            "decode had it, blocks not yet allocated",
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
    # Its connectors come with it.
    pages=(
        InfoPage(("/version",), (("version", "service.version"), ("version", "pd.compat.connector_version"))),
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
    ),
)
