"""The telemetry convention itself (`pd.*`), as hand-instrumented routers and pdscope's own helpers emit
it.
"""

from collector.engines.rules import Adapter, Fact, Instant, Interval, Mark, Role, Root, SpanRule
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


def _phase_rule(phase: Phase) -> SpanRule:
    plays = (((), _WORKER_ROLE[phase]),) if phase in _WORKER_ROLE else ()
    return SpanRule(
        span=f"pd.{phase}",
        ids=("pd.request.id",),
        attempt="pd.attempt",
        plays=plays,
        intervals=(Interval(phase),),
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
    ),
)

_RELEASE = SpanRule(
    span="pd.kv_release",
    ids=("pd.request.id",),
    plays=(((), Role.PREFILL),),
    ignored="holds no request time; the KV ledger reads it",
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
