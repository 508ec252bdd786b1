"""TensorRT-LLM disaggregated: the proxy's span, `/perf_metrics`, and both sides' metrics.

Read off its source. The proxy's names carry no prefix, so each is read only where its context says so. The
records of `/perf_metrics` come in as spans (`collector/receive/formats/trtllm_perf_metrics.py`): the best
breakdown there is.
"""

from collector.engines.rules import (
    END,
    START,
    Adapter,
    Fact,
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
from collector.engines.signals import InfoPage, SignalRule, UnmappedMetric
from collector.phases import Phase

_S = 1e9
_TTFT = "gen_ai.latency.time_to_first_token"

_PROXY = SpanRule(
    span="disaggregated_request",
    root=Root.REQUEST,
    plays=(((), Role.ROUTER),),
    marks=(
        Mark("request_start", START),
        Mark("request_end", END),
        Mark("first_token", Instant("start", ((_TTFT, _S),)), rank=2),
        Mark("decode_dispatch", Instant("event:gen_server.selected")),
        Mark("prefill_dispatch", Instant("event:ctx_server.selected")),
    ),
    facts=(
        Fact("request_id", "gen_ai.request.id"),
        Fact("prefill_worker", "event:ctx_server.selected:server"),
        Fact("decode_worker", "event:gen_server.selected:server"),
        Fact("http_status", "http.response.status_code"),
        Fact("outcome", value="error", rank=3, where=(("@status", "2"),)),
    ),
)

_RECORD = "trtllm.perf_metrics"
# A context server's own number, which another gives out as well: a record's spans share a trace, and its
# id is no name to find others by.
_ID = "trtllm.ctx_request_id"

_RECORD_RULES = (
    SpanRule(
        span=_RECORD,
        root=Root.FALLBACK,
        plays=(((), Role.ROUTER),),
        marks=(
            Mark("engine_start", START),
            Mark("request_end", END, rank=2),
            Mark("engine_end", END),
            Mark("first_token", Instant("event:first_token"), rank=2),
            Mark("last_token", END, rank=2),
        ),
        facts=(
            Fact("request_id", _ID, rank=2),
            Fact("prefill_worker", "trtllm.ctx_server"),
            Fact("decode_worker", "trtllm.gen_server"),
            # A record is given once generation has ended; a status of its own says more than that.
            Fact("outcome", value="ok", rank=3, where=(("trtllm.status", ""),)),
        ),
    ),
    SpanRule(
        span=f"{_RECORD}.ctx",
        plays=(((), Role.PREFILL),),
        intervals=(
            Interval(Phase.PREFILL_QUEUE, START, Instant("event:first_scheduled")),
            Interval(Phase.PREFILL_COMPUTE, Instant("event:first_scheduled"), Instant("event:first_token")),
        ),
        kv=(Kv(KvEvent.PUBLISH, start=END),),
    ),
    SpanRule(
        span=f"{_RECORD}.gen",
        plays=(((), Role.DECODE),),
        intervals=(
            Interval(
                Phase.FIRST_DECODE_STEP,
                Instant("event:first_scheduled"),
                Instant("event:first_token"),
                Source.DERIVED,
            ),
            Interval(Phase.DECODE, Instant("event:first_token"), END),
        ),
    ),
    SpanRule(
        span=f"{_RECORD}.gen_queue",
        plays=(((), Role.DECODE),),
        intervals=(Interval(Phase.DECODE_QUEUE),),
    ),
    SpanRule(
        span=f"{_RECORD}.kv_transfer",
        plays=(((), Role.DECODE),),
        intervals=(Interval(Phase.KV_IMPORT),),
        kv=tuple(
            Kv(event, numbers=(("bytes", "trtllm.kv_cache_size", 1.0),))
            for event in (KvEvent.TRANSFER, KvEvent.IMPORT)
        ),
    ),
)

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
    rules=(_PROXY, *_RECORD_RULES),
    switch_on=(
        "otlp_config.otlp_traces_endpoint in the disaggregated server's configuration; "
        "return_perf_metrics: true and perf_metrics_max_requests, and a scrape job of the kind "
        "trtllm_perf_metrics for the proxy; scrape its /prometheus/metrics as well"
    ),
    metrics_on="return_perf_metrics: true (http://HOST:PORT/prometheus/metrics)",
    checked_against="source, spans and records built in its shape",
    known_lies=(
        "no metric tells of KV transfers or of KV that expired",
        "the context and generation servers' legs may not share the proxy's trace",
        "/perf_metrics gives each record once, on a clock of its own, and drops those beyond "
        "perf_metrics_max_requests",
        "a retry makes a new disagg_request_id: a record tells the attempt that counted, and its context leg "
        "may be missing; the attempts before are in ctx_retry_requests and gen_retry_requests alone",
        "ctx_request_id is a number of one context server: two give out the same",
    ),
    signals=_SIGNALS,
    unmapped=_UNMAPPED,
    pages=(
        InfoPage(("/version",), (("version", "service.version"), ("version", "pd.compat.connector_version"))),
    ),
)
