"""The telemetry convention itself (`pd.*`), as hand-instrumented routers and pdscope's own tools emit it."""

from collector.engines.rules import (
    Adapter,
    Fact,
    Instant,
    Interval,
    Kv,
    KvEvent,
    Mark,
    Role,
    Root,
    SpanRule,
    Where,
)
from collector.engines.signals import SignalRule
from collector.phases import Phase

_WORKER_ROLE = {
    Phase.PREFILL_QUEUE: Role.PREFILL,
    Phase.PREFILL_COMPUTE: Role.PREFILL,
    Phase.KV_PUBLISH: Role.PREFILL,
    Phase.DECODE_QUEUE: Role.DECODE,
    Phase.KV_IMPORT: Role.DECODE,
    Phase.FIRST_DECODE_STEP: Role.DECODE,
    Phase.DECODE: Role.DECODE,
}


def _kv(event: KvEvent, where: Where = ()) -> Kv:
    return Kv(
        event,
        id="pd.kv.transfer_id",
        text=(
            ("status", "pd.kv.status"),
            ("reason", "pd.kv.reason"),
            ("connector", "pd.kv.connector"),
            ("transport", "pd.kv.transport"),
            ("source", "pd.kv.source"),
            ("destination", "pd.kv.destination"),
            ("rank", "pd.rank"),
        ),
        numbers=(
            ("bytes", "pd.kv.bytes", 1.0),
            ("tokens", "pd.kv.tokens", 1.0),
            ("descriptors", "pd.kv.descriptors", 1.0),
            ("already_held_tokens", "pd.kv.tokens_already_held", 1.0),
            ("post_ns", "pd.kv.post_ms", 1e6),
            ("wait_ns", "pd.kv.wait_ms", 1e6),
            ("lease_ns", "pd.kv.lease_expires_unix_nano", 1.0),
            ("link_gb_s", "pd.kv.link_gb_s", 1.0),
        ),
        where=where,
    )


_PHASE_KV = {
    Phase.KV_PUBLISH: (_kv(KvEvent.PUBLISH),),
    Phase.KV_TRANSFER: (_kv(KvEvent.TRANSFER),),
    Phase.KV_IMPORT: (_kv(KvEvent.IMPORT),),
    Phase.DECODE_QUEUE: (_kv(KvEvent.RESERVE, (("pd.kv.transfer_id", "*"),)),),
}

_PHASE_FACTS = {
    Phase.ROUTER_QUEUE: (Fact("admission_ms", "pd.router_queue.admission_ms"),),
    Phase.DECODE: (
        Fact("local_prompt_tokens", "pd.local_prompt_tokens"),
        Fact("local_prompt_reason", "pd.local_prompt_reason"),
    ),
}


def _phase_rule(phase: Phase) -> SpanRule:
    plays = (((), _WORKER_ROLE[phase]),) if phase in _WORKER_ROLE else ()
    return SpanRule(
        span=f"pd.{phase}",
        ids=("pd.request.id",),
        attempt="pd.attempt",
        plays=plays,
        intervals=(Interval(phase),),
        facts=_PHASE_FACTS.get(phase, ()),
        kv=_PHASE_KV.get(phase, ()),
    )


_REQUEST = SpanRule(
    span="pd.request",
    root=Root.REQUEST,
    ids=("pd.request.id",),
    plays=(((), Role.ROUTER),),
    marks=(
        Mark("request_start", Instant("start")),
        Mark("request_end", Instant("end")),
        Mark("first_token", Instant("event:first_token"), rank=2),
        Mark("last_token", Instant("event:last_token"), rank=2),
    ),
    facts=(
        Fact("request_id", "pd.request.id"),
        Fact("client_request_id", "pd.client_request.id"),
        Fact("model", "gen_ai.request.model"),
        Fact("tenant", "pd.tenant"),
        Fact("route", "pd.route"),
        Fact("cohort", "pd.cohort"),
        Fact("conversation_id", "gen_ai.conversation.id"),
        Fact("outcome", "pd.outcome"),
        Fact("finish_reason", "pd.finish_reason"),
        Fact("http_status", "http.response.status_code"),
        Fact("input_tokens", "gen_ai.usage.input_tokens"),
        Fact("output_tokens", "gen_ai.usage.output_tokens"),
        Fact("cached_tokens", "pd.cached_tokens"),
        Fact("stalled_ms", "pd.stream.stalled_ms"),
        Fact("itl_p50_ms", "pd.itl.p50_ms"),
        Fact("itl_p99_ms", "pd.itl.p99_ms"),
        Fact("itl_max_ms", "pd.itl.max_ms"),
        Fact("first_token_by", "pd.first_token_by"),
        Fact("deadline_ns", "pd.deadline_unix_nano"),
        Fact("route_candidates", "pd.route.candidates"),
        Fact("route_rejected", "pd.route.rejected"),
        Fact("route_reason", "pd.route.reason"),
        Fact("route_fallback", "pd.route.fallback"),
    ),
)

_RELEASE = SpanRule(
    span="pd.kv_release",
    ids=("pd.request.id",),
    kv=(_kv(KvEvent.RELEASE),),
)

_SIGNALS = (
    SignalRule("pd.requests.in_flight", "requests_in_flight", pool_label="pd.pool", moves=True),
    SignalRule("pd_requests_in_flight", "requests_in_flight", pool_label="pool", moves=True),
    SignalRule("pd.requests.oldest_age", "oldest_request_age", pool_label="pd.pool"),
    SignalRule("pd_requests_oldest_age_seconds", "oldest_request_age", pool_label="pool"),
    SignalRule("pd_tap_requests_total", "requests_total", part_label="outcome", pool="router"),
)

ADAPTER = Adapter(
    name="native",
    title="pdscope telemetry convention",
    rules=(_REQUEST, *(_phase_rule(phase) for phase in Phase), _RELEASE),
    switch_on="emit the pd.* spans from your router or engine (see docs/instrumenting.md)",
    signals=_SIGNALS,
    checked_against="the convention; OpenTelemetry SDK exporters",
)
