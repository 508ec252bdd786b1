"""The telemetry convention itself (`pd.*`), as hand-instrumented routers and pdscope's own tools emit it."""

from collector import conventions as names
from collector.engines.rules import (
    END,
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
        id=names.KV_TRANSFER_ID,
        text=(
            ("status", names.KV_STATUS),
            ("reason", names.KV_REASON),
            ("connector", names.KV_CONNECTOR),
            ("transport", names.KV_TRANSPORT),
            ("source", names.KV_SOURCE),
            ("destination", names.KV_DESTINATION),
            ("rank", names.RANK),
        ),
        numbers=(
            ("bytes", names.KV_BYTES, 1.0),
            ("tokens", names.KV_TOKENS, 1.0),
            ("descriptors", names.KV_DESCRIPTORS, 1.0),
            ("already_held_tokens", names.KV_TOKENS_ALREADY_HELD, 1.0),
            ("post_ns", names.KV_POST_MS, 1e6),
            ("wait_ns", names.KV_WAIT_MS, 1e6),
            ("lease_ns", names.KV_LEASE_EXPIRES_UNIX_NANO, 1.0),
            ("link_gb_s", names.KV_LINK_GB_S, 1.0),
        ),
        where=where,
    )


_PHASE_KV = {
    Phase.KV_PUBLISH: (_kv(KvEvent.PUBLISH),),
    Phase.KV_TRANSFER: (_kv(KvEvent.TRANSFER),),
    Phase.KV_IMPORT: (_kv(KvEvent.IMPORT),),
    Phase.DECODE_QUEUE: (_kv(KvEvent.RESERVE, ((names.KV_TRANSFER_ID, "*"),)),),
}

_PHASE_FACTS = {
    Phase.ROUTER_QUEUE: (Fact("admission_ms", names.ROUTER_QUEUE_ADMISSION_MS),),
    Phase.DECODE: (
        Fact("local_prompt_tokens", names.LOCAL_PROMPT_TOKENS),
        Fact("local_prompt_reason", names.LOCAL_PROMPT_REASON),
    ),
}


# How long the prompt was tokenised within the router's queue is told, not when: it is laid at the start.
_PARTS = {
    Phase.ROUTER_QUEUE: (
        Interval(
            Phase.TOKENIZE,
            end=Instant("start", ((names.ROUTER_QUEUE_TOKENIZE_MS, 1e6),)),
            source=Source.DERIVED,
            where=((names.ROUTER_QUEUE_TOKENIZE_MS, "*"),),
            reason="told as a part of the router's queue",
        ),
    ),
}


# Engines tell the time around these in spans of their own.
_PHASE_MARKS = {Phase.KV_IMPORT: (Mark("decode_imported", END),)}


def _phase_rule(phase: Phase) -> SpanRule:
    plays = (((), _WORKER_ROLE[phase]),) if phase in _WORKER_ROLE else ()
    return SpanRule(
        span=names.phase_span_name(phase),
        ids=(names.REQUEST_ID,),
        attempt=names.ATTEMPT,
        plays=plays,
        intervals=(Interval(phase), *_PARTS.get(phase, ())),
        marks=_PHASE_MARKS.get(phase, ()),
        facts=_PHASE_FACTS.get(phase, ()),
        kv=_PHASE_KV.get(phase, ()),
    )


def _tokens(rank: int, by: Where, label: str) -> tuple[Fact, Fact]:
    """A count of tokens and how it came about: what the span says, unless the label is known."""
    where: Where = ((names.OUTPUT_TOKENS, "*"), *by)
    key = "" if label else names.OUTPUT_TOKENS_BY
    return (
        Fact("output_tokens", names.OUTPUT_TOKENS, rank=rank, where=where),
        Fact("output_tokens_by", key, value=label, rank=rank, where=where),
    )


# What is told where the client is served outranks what a router beneath it says of the same request.
_REQUEST = SpanRule(
    span=names.REQUEST_SPAN,
    root=Root.REQUEST,
    # Records that a server writes of its requests beside all traces name the answer alone.
    ids=(names.REQUEST_ID, names.ANSWER_ID),
    plays=(((), Role.ROUTER),),
    marks=(
        Mark("request_start", Instant("start"), rank=0),
        Mark("request_end", Instant("end"), rank=0),
        *(
            Mark(name, Instant(f"event:{event}"), rank, where=((names.STREAM_STALLED_MS, streamed),))
            # An answer that was not streamed left at once: a router may know its first token.
            for rank, streamed in ((0, "*"), (2, ""))
            for name, event in (
                ("first_token", names.FIRST_TOKEN_EVENT),
                ("last_token", names.LAST_TOKEN_EVENT),
            )
        ),
    ),
    facts=(
        Fact("request_id", names.REQUEST_ID, rank=0),
        Fact("client_request_id", "pd.client_request.id", rank=0),
        Fact("model", names.MODEL, rank=0),
        Fact("tenant", names.TENANT),
        Fact("route", names.ROUTE, rank=0),
        Fact("cohort", names.COHORT, rank=0),
        Fact("conversation_id", names.CONVERSATION_ID, rank=0),
        Fact("outcome", names.OUTCOME, rank=0),
        Fact("finish_reason", names.FINISH_REASON, rank=0),
        Fact("http_status", names.HTTP_STATUS, rank=0),
        Fact("input_tokens", names.INPUT_TOKENS, rank=0),
        # Content chunks are no tokens, nor perhaps what is counted in ways not known here: they count where
        # no engine tells better.
        *(
            fact
            for rank, by, label in (
                (0, ((names.OUTPUT_TOKENS_BY, ""),), names.COUNTED_BY_ROUTER),
                (0, ((names.OUTPUT_TOKENS_BY, names.COUNTED_BY_USAGE),), names.COUNTED_BY_USAGE),
                (4, (), ""),
            )
            for fact in _tokens(rank, by, label)
        ),
        Fact("cached_tokens", names.CACHED_TOKENS, rank=0),
        Fact("stalled_ms", names.STREAM_STALLED_MS, rank=0),
        Fact("itl_p50_ms", names.ITL_P50_MS, rank=0),
        Fact("itl_p99_ms", names.ITL_P99_MS, rank=0),
        Fact("itl_max_ms", names.ITL_MAX_MS, rank=0),
        Fact("first_token_by", names.FIRST_TOKEN_BY, rank=0),
        Fact("deadline_ns", names.DEADLINE_UNIX_NANO, rank=0),
        Fact("route_candidates", names.ROUTE_CANDIDATES, rank=0),
        Fact("route_rejected", names.ROUTE_REJECTED, rank=0),
        Fact("route_reason", names.ROUTE_REASON, rank=0),
        Fact("route_fallback", names.ROUTE_FALLBACK, rank=0),
    ),
)

_RELEASE = SpanRule(
    span=names.KV_RELEASE_SPAN,
    ids=(names.REQUEST_ID,),
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
    rules=(
        _REQUEST,
        *(_phase_rule(phase) for phase in Phase),
        _RELEASE,
        SpanRule(prefix="pdscope.", ignored="pdscope's own work on what it receives: no request of a model"),
    ),
    switch_on="emit the pd.* spans from your router or engine (see docs/instrumenting.md)",
    signals=_SIGNALS,
    checked_against="the convention; OpenTelemetry SDK exporters",
)
