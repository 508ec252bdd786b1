"""SGLang's gateways: sglang-router and its successor smg.

Read off live runs of sglang-router 0.3.2 and smg 1.13.0. One span a request, whatever the path; the two
legs are sent off at once, and each attempt leaves an event. Their metrics are with SGLang's.
"""

from collector.engines.rules import END, START, Adapter, Fact, Instant, Mark, Role, Root, SpanRule

_SENT = "Sending concurrent requests"

# The older gateway calls the path uri, the newer one path.
_PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/generate")


def _status(outcome: str, *codes: str) -> tuple[Fact, ...]:
    return tuple(Fact("outcome", value=outcome, where=(("status_code", code),)) for code in codes)


_HTTP_REQUEST = SpanRule(
    span="http_request",
    when=tuple((("method", "POST"), (key, path)) for key in ("uri", "path") for path in _PATHS),
    otherwise="the gateway's own calls (health, workers, models): no generation",
    root=Root.REQUEST,
    # Its caller's, or one it makes: all that ties a trace of its own to a tap before it.
    ids=("request_id",),
    plays=(((), Role.ROUTER),),
    dispatches=_SENT,
    marks=(
        Mark("request_start", START),
        # The older gateway's span may end seconds after the client has its answer: the engine's end goes
        # before it.
        Mark("request_end", END, where=(("path", "*"),)),
        Mark("request_end", END, rank=3, where=(("path", ""),)),
        Mark("decode_dispatch", Instant(f"event:{_SENT}")),
    ),
    facts=(
        Fact("client_request_id", "request_id"),
        Fact("request_id", "request_id", rank=3),
        Fact("route", "uri"),
        Fact("route", "path"),
        Fact("http_status", "status_code"),
        # Only the last attempt's pair counts.
        Fact("prefill_worker", f"event:{_SENT}:prefill_url"),
        Fact("decode_worker", f"event:{_SENT}:decode_url"),
        Fact("outcome", value="cancelled", where=(("status_code", ""),)),
        *_status("cancelled", "499"),
        *_status("rejected", "429", "503"),
        *_status("invalid", "400", "404", "413", "422"),
        *_status("timeout", "408", "504"),
        *_status("error", "500", "502"),
    ),
)

ADAPTER = Adapter(
    name="smg",
    title="sglang-router and smg",
    rules=(_HTTP_REQUEST,),
    switch_on="--enable-trace --otlp-traces-endpoint HOST:4317 --prometheus-port 29000",
    checked_against="live captures of sglang-router 0.3.2 and smg 1.13.0 before stand-in workers",
    known_lies=(
        "sglang-router 0.3.2 drops the client's traceparent and starts a trace of its own; smg continues it; "
        "the client's id, or the answer's, joins it to a tap",
        "sglang-router 0.3.2 ends spans late (3512 ms where the client saw 1025) and never sets their status",
        "latency stops at the response's headers on streams",
        "a client that leaves: 499 from smg while it waits, 200 once the stream runs; no "
        "status_code from 0.3.2",
        "retries keep the traceparent; only the bootstrap room tells the attempts apart",
        "no first token is reported: without engine traces a 200 says nothing of how the stream ended",
    ),
)
