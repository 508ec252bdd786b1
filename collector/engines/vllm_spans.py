"""vLLM's spans: an engine's one a request, vllm-router's, and those of the traced KV connector."""

from collector.engines.rules import (
    END,
    START,
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
    engine_tokens,
)
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
        Mark("prefill_arrival", START, role=Role.PREFILL),
        Mark("decode_arrival", START, role=Role.DECODE),
        Mark("decode_scheduled", _SCHEDULED, role=Role.DECODE),
        Mark("first_token", _FIRST_TOKEN, rank=3, role=Role.DECODE),
        Mark("first_token", _FIRST_TOKEN, rank=3, role=Role.COLOCATED),
        Mark("last_token", _LAST_TOKEN, rank=3, role=Role.DECODE),
        Mark("last_token", _LAST_TOKEN, rank=3, role=Role.COLOCATED),
    ),
    facts=(
        Fact("request_id", "gen_ai.request.id", rank=2),
        Fact("input_tokens", "gen_ai.usage.prompt_tokens", rank=2),
        *engine_tokens("gen_ai.usage.completion_tokens", rank=2, roles=(Role.DECODE, Role.COLOCATED)),
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


RULES = (
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
        marks=(Mark("decode_allocated", START), Mark("decode_imported", END)),
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
)
