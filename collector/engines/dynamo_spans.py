"""Dynamo's spans: the frontend's, the routers' and the workers', and its request trace records.

Of requests that were not answered, what their clients were told counts before what the frontend calls them.
"""

from collector.engines.rules import (
    END,
    NEXT_ATTEMPT,
    START,
    Composite,
    Fact,
    Instant,
    Interval,
    Mark,
    Role,
    Root,
    SpanRule,
    engine_tokens,
)
from collector.phases import Phase

_MS = 1e6

_PREFILL_HOLDS = (Phase.PREFILL_QUEUE, Phase.PREFILL_COMPUTE, Phase.KV_PUBLISH, Phase.KV_TRANSFER)
_DECODE_HOLDS = (Phase.KV_TRANSFER, Phase.DECODE_QUEUE, Phase.KV_IMPORT, Phase.FIRST_DECODE_STEP)
_COLOCATED_HOLDS = (Phase.PREFILL_QUEUE, Phase.PREFILL_COMPUTE, Phase.FIRST_DECODE_STEP)
_DECODE_AS_ONE = "Dynamo times decode's wait for KV and its first step as one"
_COLOCATED_AS_ONE = "Dynamo times an aggregated worker's queue, prefill and first step as one"

_FIRST_TOKEN = Instant("start", (("ttft_ms", _MS),))

_ENDED = "event:request completed:status"
_ERROR = "event:request completed:error_type"
_UNSAID = (("request.outcome", ""),)
_TOKENS = ("ttft_ms", "*")
_RECEIVED = ("@event:request received", "*")
_ERROR_UNANSWERED = (("request.outcome", "error"), ("ttft_ms", ""))
_TOLD_STATUS = "event:http response sent:status"
_NEVER_ANSWERED = (
    *_UNSAID,
    ("ttft_ms", ""),
    ("@event:http response sent", ""),
    ("@event:response failed", ""),
)
# What the client was told of a request without an answer says more than the frontend's own word, by which
# a worker over its session limit is connection_failed, and a wrong body an error or nothing at all.
_TOLD = {
    **dict.fromkeys(("400", "401", "403", "404", "405", "411", "413", "415", "422"), "invalid"),
    **dict.fromkeys(("429", "503", "529"), "rejected"),
    **dict.fromkeys(("500", "501", "502"), "error"),
    **dict.fromkeys(("408", "504"), "timeout"),
    "499": "cancelled",
}
_FAILED = (("ttft_ms", ""), ("@event:response failed", "*"))

_IN_ONE_PIECE = (("event:request received:request_type", "unary"), (_ENDED, "success"))
# What was asked for was wrong; a stream says so after its 200.
_WRONG = ("validation", "not_found")

_PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "")

_HTTP_REQUEST = SpanRule(
    span="http-request",
    when=tuple((("uri", path),) for path in _PATHS),
    otherwise="the frontend's other calls (health, models): no generation",
    root=Root.REQUEST,
    ids=("request_id",),
    plays=(((), Role.ROUTER),),
    marks=(
        Mark("request_start", START),
        Mark("request_end", END),
        Mark("first_token", _FIRST_TOKEN, rank=2),
        Mark("last_token", END, rank=2, where=(("ttft_ms", "*"),)),
    ),
    facts=(
        Fact("request_id", "request_id"),
        Fact("client_request_id", "x_request_id"),
        Fact("model", "model"),
        Fact("route", "uri"),
        Fact("input_tokens", "input_tokens"),
        *engine_tokens("output_tokens"),
        # After a migration this names the worker that died: the router's own spans go before it.
        Fact("prefill_worker", "prefill_worker_id", rank=4),
        Fact("decode_worker", "decode_worker_id", rank=4),
        Fact("outcome", value="ok", where=(("request.outcome", "success"),)),
        Fact("outcome", value="cancelled", where=(("request.outcome", "cancelled"),)),
        Fact("outcome", value="interrupted", where=(("request.outcome", "error"), ("ttft_ms", "*"))),
        Fact("outcome", value="error", where=_ERROR_UNANSWERED),
        *(
            Fact("outcome", value=outcome, rank=0, where=(("ttft_ms", ""), (_TOLD_STATUS, status)))
            for status, outcome in _TOLD.items()
        ),
        *(
            Fact(
                "outcome",
                value="invalid",
                rank=0,
                where=(("ttft_ms", ""), (_TOLD_STATUS, "200"), (_ERROR, why)),
            )
            for why in _WRONG
        ),
        Fact("http_status", _TOLD_STATUS),
        # No answer was ever begun: the client left first, although within it may be called a success.
        Fact("outcome", value="cancelled", where=_NEVER_ANSWERED),
        # Without an outcome of its own (1.4, and lifecycle mode, which says it elsewhere): a span can end
        # in error although every token came, and does when the client leaves.
        Fact(
            "outcome",
            value="interrupted",
            rank=2,
            where=(*_UNSAID, _TOKENS, ("@event:Cannot recreate stream", "*")),
        ),
        Fact("outcome", value="ok", rank=3, where=(*_UNSAID, _TOKENS, ("@event:Cannot recreate stream", ""))),
        Fact(
            "outcome", value="rejected", rank=3, where=(*_UNSAID, *_FAILED, ("@event:request received", ""))
        ),
        Fact(
            "outcome",
            value="cancelled",
            rank=3,
            where=(*_UNSAID, ("ttft_ms", ""), ("@status", "2"), _RECEIVED, ("@event:response failed", "")),
        ),
        Fact("outcome", value="error", rank=3, where=(*_UNSAID, *_FAILED, _RECEIVED)),
        Fact("error_type", "error.type"),
        Fact("error_type", "event:Remote prefill failed, failing request:error", rank=2),
    ),
)

# Of an answer in one piece http-request tells a first token on chat alone, and not in lifecycle mode: its
# client had that with the rest.
_FIRST_WITH_THE_REST = Mark("first_token", END, rank=2, where=_IN_ONE_PIECE)

# Lifecycle mode moves the model and the outcome here.
_LIFECYCLE = SpanRule(
    span="request.lifecycle",
    ids=("dynamo.request.id",),
    plays=(((), Role.ROUTER),),
    marks=(_FIRST_WITH_THE_REST,),
    facts=(
        Fact("model", "model", rank=2),
        Fact("model", "event:request received:model", rank=3),
        *(Fact("outcome", value="invalid", where=((_ERROR, why),)) for why in _WRONG),
        Fact("outcome", value="ok", rank=2, where=(("dynamo.request.terminal.outcome", "success"),)),
        Fact("outcome", value="cancelled", rank=2, where=(("dynamo.request.terminal.outcome", "cancelled"),)),
        Fact("outcome", value="error", rank=2, where=(("dynamo.request.terminal.outcome", "error"),)),
    ),
)


def _completions(span: str) -> SpanRule:
    """On /v1/completions the frontend tells here, not on http-request, how the answer ended."""
    return SpanRule(
        span=span,
        plays=(((), Role.ROUTER),),
        marks=(_FIRST_WITH_THE_REST,),
        facts=(
            Fact("model", "event:request received:model", rank=2),
            Fact("outcome", value="ok", rank=2, where=((_ENDED, "success"),)),
            Fact("outcome", value="cancelled", rank=2, where=((_ENDED, "cancelled"),)),
            *(Fact("outcome", value="invalid", rank=2, where=((_ERROR, why),)) for why in _WRONG),
            # http-request alone would call this a refusal, too.
            Fact("outcome", value="error", rank=3, where=((_ENDED, "error"), (_ERROR, "internal"))),
            Fact("outcome", value="rejected", rank=4, where=((_ENDED, "error"), (_ERROR, "unavailable"))),
            Fact("outcome", value="error", rank=5, where=((_ENDED, "error"),)),
        ),
    )


# Routers but the KV router name no phase; of the two legs of a request only the one that answers may migrate.
_ANSWERS = (("phase", ""), ("migration.tokens_completed", "*"))


def _route(span: str) -> SpanRule:
    return SpanRule(
        span=span,
        ids=("request_id",),
        plays=(((), Role.ROUTER),),
        # A migrated request is routed again; what those workers do hangs below.
        attempt="request.attempt",
        attempt_base=0,
        calls=(
            ((("phase", "Prefill"),), Role.PREFILL),
            ((("phase", "Decode"),), Role.DECODE),
            ((("phase", "Aggregated"),), Role.COLOCATED),
        ),
        intervals=(
            Composite(
                _PREFILL_HOLDS,
                "Dynamo times prefill's queue, compute and hand-off as one",
                where=(("phase", "Prefill"),),
            ),
            # A worker that stands still has yet to take what was sent to it.
            Composite(_DECODE_HOLDS, _DECODE_AS_ONE, where=(("phase", "Decode"),)),
            Composite(_DECODE_HOLDS, _DECODE_AS_ONE, where=_ANSWERS),
            Composite(_COLOCATED_HOLDS, _COLOCATED_AS_ONE, where=(("phase", "Aggregated"),)),
        ),
        marks=(Mark("dynamo_dispatch", START),),
        facts=(
            Fact("prefill_worker", "worker_id", rank=2, where=(("phase", "Prefill"),)),
            Fact("decode_worker", "worker_id", rank=2, where=(("phase", "Decode"),)),
            Fact("decode_worker", "worker_id", rank=2, where=(("phase", "Aggregated"),)),
            Fact("decode_worker", "worker_id", rank=2, where=_ANSWERS),
        ),
    )


_HANDLE_PAYLOAD = SpanRule(
    span="handle_payload",
    ids=("request_id",),
    plays=(
        ((("component", "prefill"),), Role.PREFILL),
        ((("component", "backend"),), Role.DECODE),
    ),
    intervals=(
        Composite(
            _PREFILL_HOLDS,
            "Dynamo times prefill's queue, compute and hand-off as one",
            role=Role.PREFILL,
            where=(("endpoint", "generate"),),
        ),
        Composite(
            _DECODE_HOLDS,
            _DECODE_AS_ONE,
            role=Role.DECODE,
            where=(("endpoint", "generate"),),
        ),
        Composite(
            _COLOCATED_HOLDS,
            _COLOCATED_AS_ONE,
            role=Role.COLOCATED,
            where=(("endpoint", "generate"),),
        ),
    ),
    marks=(
        Mark("engine_start", START, where=(("endpoint", "generate"),)),
        Mark("engine_end", END, role=Role.DECODE, where=(("endpoint", "generate"),)),
        Mark("engine_end", END, role=Role.COLOCATED, where=(("endpoint", "generate"),)),
    ),
    facts=(
        Fact("prefill_worker", "instance_id", rank=3, role=Role.PREFILL, where=(("endpoint", "generate"),)),
        Fact("decode_worker", "instance_id", rank=3, role=Role.DECODE, where=(("endpoint", "generate"),)),
        Fact("decode_worker", "instance_id", rank=3, role=Role.COLOCATED, where=(("endpoint", "generate"),)),
    ),
)

_REQUEST_TRACE = SpanRule(
    span="dynamo.request.trace",
    root=Root.FALLBACK,
    ids=("dynamo.trace.request_id",),
    plays=(((), Role.ROUTER),),
    marks=(
        Mark("request_start", START, rank=3),
        Mark("request_end", END, rank=3),
    ),
    # Its ttft_ms stops at prefill's first token and says nothing of the client's: it is kept beside, never
    # in its place.
    facts=(
        Fact("engine_ttft_ms", "dynamo.trace.ttft_ms"),
        Fact("kv_transfer_estimated_ms", "dynamo.trace.kv_transfer_estimated_latency_ms"),
        Fact("request_id", "dynamo.trace.request_id", rank=3),
        Fact("input_tokens", "dynamo.trace.input_tokens", rank=2),
        *engine_tokens("dynamo.trace.output_tokens", rank=2),
        Fact("cached_tokens", "dynamo.trace.cached_tokens"),
        Fact("prefill_worker", "dynamo.trace.prefill_worker_id", rank=4),
        Fact("decode_worker", "dynamo.trace.decode_worker_id", rank=4),
    ),
)

_PARTS_OF_SELECT = "part of kv_router.select_worker"
_WITHIN_PAYLOAD = "inside handle_payload, which times the same work"

RULES = (
    _HTTP_REQUEST,
    _LIFECYCLE,
    _completions("completions_single"),
    _completions("completions_batch"),
    SpanRule(
        span="completions",
        ignored="around completions_single or _batch, which tells how the answer ended",
    ),
    SpanRule(span="embeddings", ignored="no generation"),
    SpanRule(
        span="kv_router.select_worker",
        plays=(((), Role.ROUTER),),
        attempt_id=NEXT_ATTEMPT,
        intervals=(Interval(Phase.ROUTER_QUEUE),),
        marks=(Mark("dynamo_dispatch", START),),
    ),
    _route("kv_router.route_request"),
    _route("router.route_request"),
    _route("router.route_request_bidirectional"),
    _HANDLE_PAYLOAD,
    _REQUEST_TRACE,
    SpanRule(span="kv_router.compute_block_hashes", ignored=_PARTS_OF_SELECT),
    SpanRule(span="kv_router.compute_seq_hashes", ignored=_PARTS_OF_SELECT),
    SpanRule(span="kv_router.find_matches", ignored=_PARTS_OF_SELECT),
    SpanRule(span="kv_router.schedule", ignored=_PARTS_OF_SELECT),
    # Conditional disaggregation asks once more, for whether to bypass prefill.
    SpanRule(span="kv_router.select_without_admission", ignored=_PARTS_OF_SELECT),
    SpanRule(span="kv_router.shared_cache_check", ignored=_PARTS_OF_SELECT),
    SpanRule(span="engine.generate", ignored=_WITHIN_PAYLOAD),
    SpanRule(prefix="worker.operation.", ignored=_WITHIN_PAYLOAD),
    SpanRule(span="routed_engine.generate", ignored="around the router's own spans"),
    SpanRule(
        span="transport.response.wait_backend",
        ignored="part of route_request: a worker has yet to begin its answer",
    ),
    SpanRule(
        prefix="worker_kv_query_source_",
        ignored="a worker asks once, when it starts, who holds which blocks: no request",
    ),
    SpanRule(span="request.preprocessing", intervals=(Interval(Phase.TOKENIZE),)),
    SpanRule(prefix="response.streaming", ignored="lasts as long as the answer; holds no phase of its own"),
)
