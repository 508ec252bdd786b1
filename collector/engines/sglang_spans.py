"""SGLang's spans: a root a leg, a span a thread (each rank has its own), a span a stage.

Read off SGLang 0.5.23's source. Legs share a trace when a router passes one traceparent to both; else the
bootstrap room joins them, as it joins the mooncake sender's trace, and tells a retry's legs from the first
attempt's.
"""

from collector.engines.rules import (
    END,
    START,
    Composite,
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
    engine_tokens,
)
from collector.phases import Phase

_S = 1e9
_ROOM = "bootstrap_room"
_TTFT = "gen_ai.latency.time_to_first_token"
_E2E = "gen_ai.latency.e2e"
_COMPLETION_TOKENS = "gen_ai.usage.completion_tokens"
_FIRST_SIDE = (Role.PREFILL, Role.COLOCATED)

DECODE_FORWARD = "sglang_decode_forward"
"""Mark: decode's first forward pass began."""

RETRACTED = "sglang_retracted"
"""Mark: decode gave the request's KV up for want of memory."""
TAKEN_UP = "sglang_taken_up"
"""Mark: a batch took the request in: at first, and again after it was retracted."""

_REMOTE = (
    Phase.PREFILL_QUEUE, Phase.PREFILL_COMPUTE, Phase.KV_PUBLISH, Phase.KV_TRANSFER, Phase.KV_IMPORT,
)  # fmt: skip


def _answers(role: Role) -> tuple[Mark, ...]:
    """What the leg that answers tells: when its first and last token came."""
    return (
        Mark("engine_end", END, role=role),
        Mark("request_end", END, rank=2, role=role),
        Mark("first_token", Instant("start", ((_TTFT, _S),)), rank=3, role=role),
        Mark("last_token", Instant("start", ((_E2E, _S),)), rank=3, role=role),
    )


def _leg(prefix: str, role: Role) -> SpanRule:
    """The root span of one leg: `prefill Req 1a2b3c4d`."""
    return SpanRule(
        prefix=prefix,
        when=((("rid", "*"),),),
        root=Root.FALLBACK,
        # The leg that answers gives the answer its rid for an id.
        ids=(_ROOM,) if role is Role.PREFILL else (_ROOM, "rid"),
        attempt_id=_ROOM,
        plays=(((), role),),
        marks=(
            Mark("engine_start", START),
            *(_answers(role) if role is not Role.PREFILL else ()),
        ),
        facts=(
            Fact("request_id", "gen_ai.request.id", rank=2),
            Fact("request_id", "rid", rank=4),
            Fact("model", "gen_ai.response.model", rank=2),
            Fact("input_tokens", "gen_ai.usage.prompt_tokens", rank=2),
            *(
                (Fact("cached_tokens", "gen_ai.usage.cached_tokens", rank=2),)
                if role is Role.PREFILL
                else (
                    *engine_tokens(_COMPLETION_TOKENS, rank=2),
                    Fact("outcome", value="ok", rank=4, where=((_COMPLETION_TOKENS, "*"),)),
                )
            ),
        ),
    )


_ABORTED: Where = (("type", "abort"),)


def _aborted(outcome: str, *codes: str, rank: int = 4) -> tuple[Fact, ...]:
    """How a leg that answers says it gave up; the later of two attempts counts."""
    return tuple(
        Fact("outcome", value=outcome, rank=rank, role=role, where=(*_ABORTED, ("status_code", code)))
        for code in codes
        for role in (Role.DECODE, Role.COLOCATED)
    )


def _thread(prefix: str, role: Role) -> SpanRule:
    """A span a thread and rank: it tells its stages whose they are, and how it was aborted."""
    return SpanRule(
        prefix=prefix,
        when=((("thread_label", "*"),),),
        plays=(((), role),),
        calls=(((), role),),
        marks=(Mark(RETRACTED, Instant("each:retract")),) if role is not Role.PREFILL else (),
        facts=(
            Fact("error_type", "message", rank=2, where=_ABORTED),
            *_aborted("cancelled", ""),
            *_aborted("invalid", "400"),
            *_aborted("rejected", "429", "503"),
            *_aborted("timeout", "504"),
            *_aborted("error", "500"),
        ),
    )


def _stage(span: str, *intervals: Interval | Composite, role: Role = Role.ANY, ignored: str = "") -> SpanRule:
    return SpanRule(span=span, plays=(((), role),) if role else (), intervals=intervals, ignored=ignored)


def _ingress(span: str, first: Phase) -> SpanRule:
    """What the entry of either leg does before its scheduler: decode's runs beside prefill's."""
    return _stage(
        span,
        *(Interval(first, role=role) for role in _FIRST_SIDE),
        Interval(Phase.DECODE_QUEUE, role=Role.DECODE, reason="decode's own entry, beside prefill's"),
    )


_TRANSFERRED = SpanRule(
    span="decode_transferred",
    plays=(((), Role.DECODE),),
    intervals=(Composite(_REMOTE, "SGLang times the remote prefill, the transfer and the import as one"),),
    kv=(
        Kv(KvEvent.RESERVE, text=(("connector", "=sglang"),)),
        Kv(KvEvent.IMPORT, start=END, text=(("connector", "=sglang"),)),
    ),
)

_TRANSFER = SpanRule(
    span="prefill_transfer_kv_cache",
    plays=(((), Role.PREFILL),),
    intervals=(Interval(Phase.KV_TRANSFER),),
    # It is emitted for transfers that ended well: then the producer's copy goes too.
    kv=(
        Kv(KvEvent.PUBLISH, end=START),
        Kv(KvEvent.TRANSFER, text=(("status", "=ok"),)),
        Kv(KvEvent.RELEASE, start=END, text=(("reason", "=imported"),)),
    ),
)


def _mooncake(span: str) -> SpanRule:
    return SpanRule(
        span=span,
        plays=(((), Role.PREFILL),),
        intervals=(Interval(Phase.KV_TRANSFER),),
        kv=(Kv(KvEvent.TRANSFER, text=(("connector", "=mooncake"),)),),
    )


_UNIFIED = "the whole of a unified engine's work, which its stages share out"

RULES = (
    _leg("prefill Req ", Role.PREFILL),
    _leg("decode Req ", Role.DECODE),
    _leg(" Req ", Role.COLOCATED),
    SpanRule(
        prefix="Sender Req ",
        when=((("rid", "*"),),),
        # Its rid is the bootstrap room.
        ids=("rid",),
        attempt_id="rid",
        plays=(((), Role.PREFILL),),
        calls=(((), Role.PREFILL),),
    ),
    _thread("Prefill", Role.PREFILL),
    _thread("Decode", Role.DECODE),
    *(
        _thread(label, Role.COLOCATED)
        for label in ("Scheduler [", "Tokenizer [", "MultiTokenizer", "DP Controller [")
    ),
    _ingress("tokenize", Phase.TOKENIZE),
    _ingress("api_server_dispatch", Phase.PREFILL_QUEUE),
    _ingress("dpc_dispatch", Phase.PREFILL_QUEUE),
    _stage("prefill_prepare", Interval(Phase.PREFILL_QUEUE), role=Role.PREFILL),
    _stage(
        "prefill_bootstrap",
        Interval(Phase.PREFILL_QUEUE, reason="waits for decode to shake hands and make room"),
        role=Role.PREFILL,
    ),
    # A unified engine has these two stages as well: its role is its thread's.
    _stage("prefill_waiting", Interval(Phase.PREFILL_QUEUE)),
    SpanRule(
        span="prefill_forward",
        intervals=(Interval(Phase.PREFILL_COMPUTE),),
        marks=(Mark(TAKEN_UP, START, role=Role.COLOCATED),),
    ),
    _stage("chunked_prefill", Interval(Phase.PREFILL_COMPUTE)),
    _TRANSFER,
    _stage("decode_prepare", Interval(Phase.DECODE_QUEUE), role=Role.DECODE),
    _stage("decode_bootstrap", Interval(Phase.DECODE_QUEUE), role=Role.DECODE),
    _TRANSFERRED,
    _stage("decode_waiting", Interval(Phase.DECODE_QUEUE), role=Role.DECODE),
    SpanRule(
        span="decode_forward",
        intervals=(Interval(Phase.DECODE),),
        marks=(Mark(DECODE_FORWARD, START),),
    ),
    SpanRule(
        span="fake_output",
        plays=(((), Role.DECODE),),
        intervals=(Interval(Phase.FIRST_DECODE_STEP),),
        marks=(Mark(TAKEN_UP, START),),
    ),
    # Every later step lies in decode_forward.
    SpanRule(span="decode_loop", intervals=(Interval(Phase.FIRST_DECODE_STEP, where=(("decode_ct", "0"),)),)),
    _mooncake("mooncake_send"),
    _mooncake("mooncake_worker_send"),
    _mooncake("mooncake_worker_send_session"),
    _stage("mooncake_recv", ignored="declared by SGLang, never emitted"),
    _stage("mooncake_worker_recv", ignored="declared by SGLang, never emitted"),
    _stage("quick_finish", ignored="declared by SGLang, never emitted"),
    _stage("spec_verify", ignored="declared by SGLang, never emitted"),
    _stage("spec_draft", ignored="part of a forward pass"),
    _stage("run_batch_cpu", ignored="part of a forward pass"),
    _stage("mm_encode", ignored="encoding images: a phase the convention has no name for"),
    _stage("request_process", ignored=_UNIFIED),
)
