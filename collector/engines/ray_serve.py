"""Ray Serve LLM: decode as the orchestrator, ingress → decode deployment → prefill deployment.

Read off live runs of Ray Serve 2.60.0 with deployments shaped on ray.llm's, and its source: there the
deployments are named `Prefill:…` and `Decode:…`. The engine runs inside the replica: between prefill's
reply and the first token nothing is timed.
"""

from collector.engines.rules import (
    END,
    START,
    Adapter,
    Composite,
    Fact,
    Interval,
    Mark,
    Role,
    Root,
    SpanRule,
)
from collector.engines.signals import SignalRule, UnmappedMetric
from collector.phases import Phase

_PREFILLS = ("Prefill:", "PDPrefillServer", "DPPDPrefillServer", "SGLangPDPrefillServer")
_DECODES = ("Decode:", "PDDecodeServer", "DPPDDecodeServer", "SGLangPDDecodeServer")

_PROXY = SpanRule(
    prefix="proxy_http_request ",
    # Completions are posted; a plain GET of the application's own route is one that was written so.
    when=((("http.method", "POST"),), (("http.method", "GET"), ("http.route", "/"))),
    otherwise="health, routes, models: no generation",
    root=Root.REQUEST,
    ids=("request_id",),
    plays=(((), Role.ROUTER),),
    marks=(Mark("request_start", START), Mark("request_end", END)),
    facts=(
        Fact("request_id", "request_id"),
        Fact("client_request_id", "request_id"),
        Fact("route", "http.route"),
        Fact("http_status", "http.status_code"),
        Fact("outcome", value="error", rank=3, where=(("@status", "2"), ("http.status_code", ""))),
    ),
)


def _route(deployment: str) -> SpanRule:
    """Serve's router waits for a replica with room."""
    return SpanRule(
        prefix=f"route_to_replica {deployment}",
        ids=("request_id",),
        plays=(((), Role.ROUTER),),
        intervals=(Interval(Phase.ROUTER_QUEUE),),
    )


def _prefill(deployment: str) -> SpanRule:
    return SpanRule(
        prefix=f"replica_handle_request {deployment}",
        ids=("request_id",),
        plays=(((), Role.PREFILL),),
        calls=(((), Role.PREFILL),),
        intervals=(
            Composite(
                (Phase.PREFILL_QUEUE, Phase.PREFILL_COMPUTE, Phase.KV_PUBLISH),
                "Serve times the whole prefill call as one",
            ),
        ),
        facts=(Fact("prefill_worker", "replica_id"),),
    )


def _decode(deployment: str) -> SpanRule:
    return SpanRule(
        prefix=f"replica_handle_request {deployment}",
        ids=("request_id",),
        plays=(((), Role.DECODE),),
        calls=(((), Role.DECODE),),
        marks=(Mark("engine_end", END, role=Role.DECODE), Mark("decode_dispatch", START)),
        facts=(
            Fact("decode_worker", "replica_id"),
            Fact("outcome", value="error", rank=3, where=(("@status", "2"),)),
        ),
    )


_SIGNALS = (
    SignalRule(
        "ray_serve_deployment_queued_queries",
        "queue_depth",
        part_label="deployment",
        worker_labels=("deployment",),
    ),
    SignalRule("ray_serve_replica_processing_queries", "running", worker_labels=("replica",), moves=True),
)

_UNMAPPED = (
    UnmappedMetric(
        "ray_serve_request_router_fulfillment_time_ms", "a latency of Serve's router; read as a histogram"
    ),
    UnmappedMetric("ray_serve_deployment_processing_latency_ms", "a whole call; read as a histogram"),
    UnmappedMetric("rayllm_first_token_latency_ms", "declared by ray.llm, never fed"),
)

ADAPTER = Adapter(
    name="ray-serve",
    title="Ray Serve LLM",
    rules=(
        _PROXY,
        *(_route(deployment) for deployment in (*_PREFILLS, *_DECODES, "")),
        *(_prefill(deployment) for deployment in _PREFILLS),
        *(_decode(deployment) for deployment in _DECODES),
        SpanRule(
            prefix="replica_handle_request ", ignored="the ingress passes the answer on; no phase of its own"
        ),
    ),
    switch_on=(
        "RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH=<module>:<function> (off when empty) and "
        "RAY_SERVE_TRACING_SAMPLING_RATIO=1 (the default keeps one in a hundred)"
    ),
    metrics_on="ray start --metrics-export-port=8080",
    checked_against="a live run of Ray Serve 2.60.0 with deployments shaped on ray.llm's",
    known_lies=(
        "one in a hundred requests is traced unless RAY_SERVE_TRACING_SAMPLING_RATIO says otherwise",
        "decode's replica span holds the prefill call and the whole answer",
        "rayllm_*_first_token_latency_ms is never fed",
    ),
    signals=_SIGNALS,
    unmapped=_UNMAPPED,
)
