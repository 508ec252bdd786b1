"""llm-d: its endpoint picker (EPP) and the prefill/decode sidecar, before vLLM or SGLang engines.

Read off llm-d-router's source (August 2026). The sidecar starts decode from prefill's context, so decode
nests under prefill: durations come from attributes, not from nesting.
"""

from collector.engines.rules import (
    END,
    START,
    Adapter,
    Composite,
    Fact,
    Instant,
    Interval,
    Mark,
    Role,
    Root,
    SpanRule,
    Where,
)
from collector.engines.signals import SignalRule, UnmappedMetric
from collector.phases import Phase

_MS = 1e6
_PROXY = "llm_d.pd_proxy."
_PREFILL_MS = f"{_PROXY}prefill.duration_ms"
_PREFILL_HOLDS = (Phase.PREFILL_QUEUE, Phase.PREFILL_COMPUTE, Phase.KV_PUBLISH)
_IN_SCHEDULING = "part of gateway.request_orchestration"

_GATEWAY_REQUEST = SpanRule(
    span="gateway.request",
    root=Root.REQUEST,
    plays=(((), Role.ROUTER),),
    marks=(Mark("request_start", START), Mark("request_end", END)),
    facts=(
        Fact("model", "gen_ai.request.model"),
        Fact("client_request_id", "request_id"),
        Fact("request_id", "request_id", rank=3),
        Fact("http_status", "http.response.status_code"),
        Fact("outcome", value="error", rank=3, where=(("@status", "2"),)),
    ),
)

_ORCHESTRATION = SpanRule(
    span="gateway.request_orchestration",
    plays=(((), Role.ROUTER),),
    # Admission and flow control wait in here.
    intervals=(Interval(Phase.ROUTER_QUEUE),),
    facts=(
        Fact("model", "target_model", rank=2),
        Fact("outcome", value="rejected", rank=2, where=(("@status", "2"),)),
    ),
)

_PREPARE = SpanRule(
    span="prepare_disaggregation",
    plays=(((), Role.ROUTER),),
    facts=(
        Fact("prefill_host", "llm_d.epp.pd.prefill_pod_address"),
        Fact("prefill_port", "llm_d.epp.pd.prefill_pod_port"),
        Fact("route_reason", "llm_d.epp.pd.reason"),
    ),
)

_FORWARD = SpanRule(
    span="forward_request",
    when=((((f"{_PROXY}connector"), "*"),), ((f"{_PROXY}kv_connector", "*"),)),
    plays=(((), Role.ROUTER),),
    facts=(
        Fact("route_reason", f"{_PROXY}reason", rank=2),
        Fact("route_candidates", f"{_PROXY}prefill_candidates"),
        Fact("prefill_worker", f"{_PROXY}prefill_target", rank=2),
        Fact("route_fallback", value="no disaggregation", where=((f"{_PROXY}disaggregation_used", "false"),)),
    ),
)


def _prefill(span: str) -> SpanRule:
    """The call to the prefill engine: its length is in an attribute, for the span may hold decode too."""
    told: Where = ((_PREFILL_MS, "*"),)
    return SpanRule(
        span=span,
        when=(((f"{_PROXY}prefill_target", "*"),), ((f"{_PROXY}request_id", "*"),), told),
        plays=(((), Role.ROUTER),),
        calls=(((), Role.PREFILL),),
        intervals=(
            Composite(
                _PREFILL_HOLDS,
                "the sidecar times the call to the prefill engine as one",
                START,
                Instant("start", ((_PREFILL_MS, _MS),)),
            ),
        ),
        marks=(
            Mark("prefill_dispatch", START),
            # the sidecar alone is traced: the request began here
            Mark("engine_start", START),
        ),
        facts=(Fact("prefill_worker", f"{_PROXY}prefill_target"),),
    )


def _decode(span: str) -> SpanRule:
    return SpanRule(
        span=span,
        when=tuple(
            ((f"{_PROXY}{name}", "*"),)
            for name in ("decode.duration_ms", "decode.streaming", "decode.target", "true_ttft_ms")
        ),
        plays=(((), Role.ROUTER),),
        calls=(((), Role.DECODE),),
        marks=(
            Mark("decode_dispatch", START),
            # the answer has passed through when decode's call ends
            Mark("engine_end", Instant("start", ((f"{_PROXY}decode.duration_ms", _MS),))),
        ),
        facts=(
            Fact("decode_worker", f"{_PROXY}decode.target"),
            Fact("outcome", value="error", rank=3, where=(("@status", "2"),)),
        ),
    )


_SIDECAR = SpanRule(
    prefix=f"{_PROXY}POST ",
    root=Root.FALLBACK,
    plays=(((), Role.ROUTER),),
    marks=(Mark("engine_start", START), Mark("request_end", END, rank=2), Mark("engine_end", END)),
    facts=(
        Fact("http_status", "http.response.status_code", rank=2),
        Fact("http_status", "http.status_code", rank=3),
        Fact("route", "url.path"),
    ),
)

_RULES = (
    _GATEWAY_REQUEST,
    _ORCHESTRATION,
    _PREPARE,
    _FORWARD,
    _SIDECAR,
    SpanRule(prefix=_PROXY, ignored="the sidecar's other calls (health, models, metrics): no generation"),
    _prefill("prefill"),
    _prefill(f"{_PROXY}prefill"),
    _decode("decode"),
    _decode(f"{_PROXY}decode"),
    SpanRule(span="chunked_decode", ignored="part of the decode call"),
    *(
        SpanRule(span=span, ignored=_IN_SCHEDULING)
        for span in (
            "run_scheduler_profile",
            "filter_endpoints",
            "llm_d.epp.scoring",
            "pick_endpoints",
            "pick_disagg_profile",
            "produce_precise_prefix_cache",
            "score_tokens",
            "index_lookup",
            "index_add",
            "index_evict",
            "compute_scores",
        )
    ),
    SpanRule(prefix="llm_d.epp.scorer.", ignored=_IN_SCHEDULING),
)

_SIGNALS = (
    SignalRule("llm_d_epp_request_running", "requests_in_flight", pool="router", moves=True),
    SignalRule("llm_d_epp_inflight_requests", "requests_in_flight", pool="router", rank=2),
    SignalRule("llm_d_epp_flow_control_queue_size", "queue_depth", pool="router"),
    SignalRule(
        "llm_d_epp_request_error_total", "failed_requests_total", part_label="error_code", pool="router"
    ),
    SignalRule(
        "llm_d_epp_per_endpoint_queue_size",
        "queue_depth",
        part="router_view",
        worker_labels=("model_server_endpoint", "name"),
    ),
)

_UNMAPPED = (
    UnmappedMetric("llm_d_epp_request_ttft_seconds", "as the gateway sees it; read as a histogram"),
    UnmappedMetric("llm_d_epp_disagg_decision_total", "decisions, not requests that were served so"),
    UnmappedMetric(
        "llm_d_epp_average_kv_cache_utilization", "a mean over the pool: the engines' own is read"
    ),
)

ADAPTER = Adapter(
    name="llm-d",
    title="llm-d (EPP and P/D sidecar)",
    rules=_RULES,
    switch_on=(
        "EPP and sidecar: --tracing, OTEL_TRACES_EXPORTER=otlp (its default is console), "
        "OTEL_EXPORTER_OTLP_ENDPOINT=http://HOST:4317, OTEL_TRACES_SAMPLER_ARG=1 (the default keeps "
        "one in ten)"
    ),
    metrics_on="EPP: http://HOST:9090/metrics; its engines are vLLM or SGLang",
    checked_against="source of llm-d-router (August 2026), spans built in its shape",
    known_lies=(
        "true_ttft_ms ends when decode is called, not at the first token",
        "decode nests under prefill: a prefill span may last as long as the answer",
        "with the sglang connector the prefill engine's parent is forward_request, not prefill",
        "prefill retries lie inside one span",
        "the sidecar gives the engines a request id of its own: the client's is on the gateway's span alone",
    ),
    signals=_SIGNALS,
    unmapped=_UNMAPPED,
)
