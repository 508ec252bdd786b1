"""Random requests of every dialect, each told by a seed: overlaps, gaps, retries, nonsense and unicode."""

import random

from analyzer.assemble.oracle_spans import Process, Span
from collector.phases import Phase

DAY_NS = 1_750_000_000 * 10**9
MS = 1_000_000
NAMES = ("pool-α", "decode-7", "prefill-0", "gateway", "部署-3", "worker 9", "colo")
NUMBERS = (
    "0",
    "1",
    "7",
    "812",
    "4012",
    "+5",
    "12.5",
    "-3",
    "",
    "many",
    "4294967295",
    "4294967296",
    "99999999999",
)
ABSURD = ("nan", "inf", "-inf", "1e30", "-2882.5", "2882.5", "", "soon", "1e-3", "0")


def request(seed: int) -> list[Span]:
    """The spans of one request of its own trace, in no order, some of them sent more than once."""
    rng = random.Random(seed)
    spans = rng.choice((native, native, vllm, dynamo, sglang))(rng)
    spans += rng.choices(spans, k=rng.choice((0, 0, 1, 3)))
    rng.shuffle(spans)
    return spans


class _Trace:
    """Makes spans of one trace around its start. Times lie on a coarse grid: they often coincide."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.trace_id = rng.randbytes(16)
        self.id = self.trace_id.hex()[:12]
        self.start = DAY_NS + rng.randrange(3600 * 10**9)
        self.tenant = rng.choice(("acme", "globex"))

    def process(self, pool: str = "") -> Process:
        """A process: named or not, saying its pool or not, and whose it is or not."""
        rng = self.rng
        pairs = [("service.name", f"{pool or 'svc'}-{rng.choice(NAMES)}")]
        if rng.random() < 0.7:
            pairs.append(("service.instance.id", f"{rng.choice(NAMES)}:{rng.randrange(3)}"))
        if pool and rng.random() < 0.8:
            pairs.append(("pd.pool", pool))
        if rng.random() < 0.3:
            pairs.append(("pd.cohort", rng.choice(("a", "b", "コホート"))))
        if rng.random() < 0.3:
            pairs.append(("pd.tenant", self.tenant))
        return Process(tuple(pairs))

    def moment(self, early: int = 0, late: int = 40) -> int:
        jitter = self.rng.choice((0, 0, 0, self.rng.randrange(MS)))
        return self.start + self.rng.randint(early, late) * MS + jitter

    def stretch(self, early: int = 0, late: int = 40) -> tuple[int, int]:
        first, second = sorted((self.moment(early, late), self.moment(early, late)))
        return first, (first if self.rng.random() < 0.1 else second)

    def span(self, name: str, process: Process, start: int, end: int, **more: object) -> Span:
        values = {
            "scope": "",
            "kind": 1,
            "status": 0,
            "parent_id": b"",
            "attributes": {},
            "events": (),
            **more,
        }
        return Span(
            trace_id=self.trace_id,
            span_id=self.rng.randbytes(8),
            process=process,
            name=name,
            start_ns=start,
            end_ns=end,
            **values,
        )


def native(rng: random.Random) -> list[Span]:
    """pd.* spans: any phase any number of times, several attempts, several ranks."""
    trace = _Trace(rng)
    router = trace.process(rng.choice(("router", "router", "")))
    workers = {pool: [trace.process(pool) for _ in range(2)] for pool in ("prefill", "decode", "colocated")}
    attempts = rng.choice((1, 1, 1, 2, 3))
    spans = []
    for phase in rng.choices(list(Phase), k=rng.randint(0, 14)):
        pool = rng.choice(("prefill", "decode", "colocated", "router"))
        owner = router if pool == "router" else rng.choice(workers[pool])
        attributes = {"pd.phase": str(phase), "pd.request.id": f"r-{trace.id}"}
        if attempts > 1 and rng.random() < 0.8:
            attributes["pd.attempt"] = rng.choice((str(rng.randint(1, attempts)), "0", "x", "-4"))
        start, end = trace.stretch()
        events = []
        if rng.random() < 0.3:
            events = [
                (rng.choice(("preempted", "resumed")), trace.moment(-2, 42)) for _ in range(rng.randint(1, 4))
            ]
        for rank in range(rng.choice((1, 1, 1, 2, 4))):
            lag = rank * rng.randrange(2) * MS
            spans.append(
                trace.span(
                    f"pd.{phase}",
                    owner,
                    start + lag,
                    end + lag,
                    attributes={**attributes, "pd.rank": str(rank)},
                    events=tuple(events),
                )
            )
    spans += [
        trace.span("pd.kv_release", router, *trace.stretch()),
        trace.span("other", router, *trace.stretch()),
    ]
    if rng.random() < 0.9:
        spans.append(_native_root(trace, router))
    return spans


def _native_root(trace: _Trace, router: Process) -> Span:
    rng = trace.rng
    attributes = {
        "pd.request.id": rng.choice((f"r-{trace.id}", f"запрос-{trace.id}")),
        "gen_ai.request.model": rng.choice(("llama", "模型")),
        "gen_ai.usage.input_tokens": rng.choice(NUMBERS),
        "gen_ai.usage.output_tokens": rng.choice(NUMBERS),
        "pd.cached_tokens": rng.choice(NUMBERS),
        "pd.stream.stalled_ms": rng.choice(("0", "3", "2.25", "500", *ABSURD)),
        "http.response.status_code": rng.choice(
            ("200", "404", "429", "499", "500", "503", "504", "0", "70000")
        ),
        "pd.outcome": rng.choice(
            ("ok", "ok", "ok", "cancelled", "interrupted", "rejected", "invalid", "timeout", "error")
        ),
        "pd.finish_reason": rng.choice(("stop", "length", "error", "abort")),
        # what the process says outranks it
        "pd.tenant": "t" if router.get("pd.tenant") else trace.tenant,
        "pd.route": "/v1",
        "pd.cohort": "c",
        "gen_ai.conversation.id": "conv",
        "pd.client_request.id": "mine",
    }
    attributes = {name: value for name, value in attributes.items() if rng.random() < 0.8}
    end = trace.moment(20, 60) if rng.random() < 0.95 else trace.start
    events = [("first_token", trace.moment(5, 30)), ("last_token", trace.moment(15, 60))]
    if rng.random() < 0.2:
        events = [
            (name, rng.choice((1, trace.start - DAY_NS // 2, ns, trace.start - 3 * MS, 4 * 10**18)))
            for name, ns in events
        ]
    events = [event for event in events if rng.random() < 0.85]
    return trace.span(
        "pd.request", router, trace.start, end, kind=2, attributes=attributes, events=tuple(events)
    )


def _seconds(rng: random.Random, low: int, high: int) -> str:
    """A duration in seconds that is a whole number of nanoseconds, or nonsense."""
    if rng.random() < 0.08:
        return rng.choice(ABSURD)
    return str(rng.randint(low * MS, high * MS) / 1e9)


def vllm(rng: random.Random) -> list[Span]:
    """Router and engine spans, with or without those of the traced connector."""
    trace = _Trace(rng)
    router = trace.process("")
    engines = {role: trace.process(rng.choice((role, ""))) for role in ("prefill", "decode")}
    spans = []
    legs = {}
    server = trace.span(
        "POST /v1/completions",
        router,
        trace.start,
        trace.moment(20, 60),
        scope="vllm-router",
        kind=2,
        attributes=_some(
            rng,
            {
                "request_id": "client-1",
                "http.route": "/v1",
                "http.response.status_code": rng.choice(("200", "200", "200", "502", "429")),
            },
        ),
    )
    if rng.random() < 0.85:
        spans.append(server)
    for role in ("prefill", "decode"):
        for _ in range(rng.choice((1, 1, 1, 2, 0))):
            start, end = trace.stretch(0, 20)
            legs[role] = trace.span(
                f"POST {role}",
                router,
                start,
                end,
                scope="vllm-router",
                kind=3,
                parent_id=server.span_id,
                attributes=_some(
                    rng,
                    {
                        "vllm.request_phase": role,
                        "server.address": rng.choice(("10.0.0.1", "10.0.0.2")),
                        "server.port": rng.choice(("8100", "8200")),
                    },
                ),
            )
            spans.append(legs[role])
        if rng.random() < 0.85:
            spans.append(_llm_request(trace, engines[role], legs.get(role)))
    for name, role in (
        ("kv.publish", "prefill"),
        ("kv.lease", "prefill"),
        ("kv.transfer", "decode"),
        ("kv.import", "decode"),
    ):
        if rng.random() < 0.6:
            spans.append(trace.span(name, engines[role], *trace.stretch(3, 30)))
    return spans


def _llm_request(trace: _Trace, engine: Process, leg: Span | None) -> Span:
    rng = trace.rng
    attributes = {
        "gen_ai.request.id": f"cmpl-{trace.id}-0",
        "gen_ai.latency.time_to_first_token": _seconds(rng, 0, 40),
        "gen_ai.latency.time_in_model_prefill": _seconds(rng, 0, 20),
        "gen_ai.latency.time_in_model_decode": _seconds(rng, 0, 30),
        "gen_ai.usage.prompt_tokens": rng.choice(NUMBERS),
        "gen_ai.usage.completion_tokens": rng.choice(("1", "8", "0", "45")),
    }
    start, end = trace.stretch(0, 50)
    parent = leg.span_id if leg and rng.random() < 0.9 else rng.randbytes(8)
    return trace.span(
        "llm_request",
        engine,
        start,
        max(end, start + 30 * MS),
        scope="vllm",
        kind=2,
        parent_id=parent,
        attributes=_some(rng, attributes, 0.95),
    )


def dynamo(rng: random.Random) -> list[Span]:
    """Frontend, router and worker spans, and the request trace's record."""
    trace = _Trace(rng)
    frontend = trace.process("")
    workers = {role: trace.process(rng.choice((role, ""))) for role in ("prefill", "decode")}
    spans = []
    if rng.random() < 0.85:
        attributes = {
            "request_id": f"u-{trace.id}",
            "x_request_id": "mine",
            "model": "tiny",
            "uri": rng.choice((*["/v1/chat/completions"] * 4, "/health")),
            "input_tokens": rng.choice(NUMBERS),
            "output_tokens": rng.choice(NUMBERS),
            "ttft_ms": rng.choice((str(rng.randint(0, 40 * MS) / 1e6), *ABSURD)),
            "prefill_worker_id": str(2**63 + rng.randrange(3)),
            "decode_worker_id": "17",
            "request.outcome": rng.choice(("success", "success", "cancelled", "error", "weird")),
            "error.type": "x",
        }
        spans.append(
            trace.span(
                "http-request",
                frontend,
                trace.start,
                trace.moment(30, 60),
                status=rng.choice((0, 0, 2)),
                attributes=_some(rng, attributes, rng.choice((0.85, 0.5))),
                events=tuple(
                    (name, trace.moment(0, 40))
                    for name in ("request received", "response failed", "Cannot recreate stream")
                    if rng.random() < 0.4
                ),
            )
        )
    if rng.random() < 0.5:
        attributes = {
            "dynamo.trace.request_id": f"u-{trace.id}",
            "dynamo.trace.input_tokens": "9",
            "dynamo.trace.output_tokens": "3",
            "dynamo.trace.ttft_ms": str(rng.randint(0, 40 * MS) / 1e6),
            "dynamo.trace.cached_tokens": "2",
            "dynamo.trace.prefill_worker_id": "3",
            "dynamo.trace.decode_worker_id": "4",
        }
        spans.append(
            trace.span(
                "dynamo.request.trace",
                frontend,
                trace.moment(0, 2),
                trace.moment(30, 60),
                attributes=_some(rng, attributes),
            )
        )
    if rng.random() < 0.3:
        outcome = rng.choice(("success", "cancelled", "error"))
        spans.append(
            trace.span(
                "request.lifecycle",
                frontend,
                *trace.stretch(0, 60),
                attributes={"model": "m2", "dynamo.request.terminal.outcome": outcome},
            )
        )
    selects = ["kv_router.select_worker"] * rng.choice((1, 1, 3))
    for name in (*selects, "kv_router.schedule", "request.preprocessing", "worker_kv_query_source_7"):
        if rng.random() < 0.6:
            spans.append(trace.span(name, frontend, *trace.stretch(0, 15)))
    attempts = rng.choice((("0",), ("0",), ("0", "1", "2", "x")))
    legs = (("Prefill", "prefill"), ("Decode", "backend"), ("Aggregated", "backend"))
    for phase, component in legs * rng.choice((1, 1, 2)):
        if rng.random() < 0.6:
            route = trace.span(
                rng.choice(("kv_router.route_request", "router.route_request")),
                frontend,
                *trace.stretch(2, 50),
                kind=3,
                attributes=_some(
                    rng,
                    {
                        "phase": phase,
                        "worker_id": rng.choice(("3", "4", "5")),
                        "request.attempt": rng.choice(attempts),
                    },
                ),
            )
            payload = trace.span(
                "handle_payload",
                workers["prefill" if phase == "Prefill" else "decode"],
                *trace.stretch(3, 50),
                kind=2,
                parent_id=route.span_id,
                attributes=_some(
                    rng, {"component": component, "endpoint": "generate", "instance_id": "99"}, 0.95
                ),
            )
            spans += [route, payload]
    return spans


def sglang(rng: random.Random) -> list[Span]:
    """A gateway that retries, and each attempt's legs: roots, threads of several ranks, nested stages."""
    trace = _Trace(rng)
    gateway, engine = trace.process(""), trace.process(rng.choice(("prefill", "decode", "", "")))
    root = _gateway_root(trace, gateway)
    spans = [root if rng.random() < 0.85 else trace.span("other", gateway, *trace.stretch())]
    rooms = [f"0x{rng.randrange(1 << 63):x}" for _ in range(rng.choice((1, 1, 2, 3)))]
    for room in rooms:
        for role in ("prefill", "decode", ""):
            if rng.random() < 0.6:
                spans += _sglang_leg(trace, engine, role, room, root)
        if rng.random() < 0.3:
            spans.append(
                trace.span(f"Sender Req {room}", engine, *trace.stretch(0, 40), attributes={"rid": room})
            )
    return spans


def _gateway_root(trace: _Trace, gateway: Process) -> Span:
    rng = trace.rng
    sent = "Sending concurrent requests"
    events = [(sent, trace.moment(-2, 30)) for _ in range(rng.choice((0, 1, 1, 2, 5)))]
    events += [("Received concurrent requests", trace.moment(0, 40))]
    urls = {"prefill_url": f"http://p{rng.randrange(3)}", "decode_url": "http://d:1"}
    told = {f"event:{sent}:{name}": url for name, url in _some(rng, urls).items()} if events[1:] else {}
    attributes = {
        "method": rng.choice(("POST", "POST", "POST", "GET")),
        rng.choice(("uri", "path")): rng.choice(("/generate", "/v1/completions", "/health")),
        "request_id": f"client-{trace.id}",
        "status_code": rng.choice(("200", "200", "499", "500", "503", "418")),
    }
    return trace.span(
        "http_request", gateway, trace.start, trace.moment(20, 60), scope="smg", status=rng.choice((0, 2)),
        attributes=_some(rng, attributes, 0.95), events=tuple(events), told=told,
    )  # fmt: skip


_STAGES = (
    "tokenize",
    "api_server_dispatch",
    "prefill_bootstrap",
    "prefill_waiting",
    "prefill_forward",
    "chunked_prefill",
    "prefill_transfer_kv_cache",
    "decode_bootstrap",
    "decode_transferred",
    "decode_waiting",
    "decode_forward",
    "fake_output",
    "decode_loop",
    "mooncake_send",
    "request_process",
)


def _sglang_leg(trace: _Trace, engine: Process, role: str, room: str, gateway: Span) -> list[Span]:
    rng = trace.rng
    start, end = trace.stretch(0, 40)
    attributes = {
        "rid": trace.id,
        "bootstrap_room": room,
        "gen_ai.response.model": "llama",
        "gen_ai.usage.completion_tokens": "7",
        "gen_ai.usage.prompt_tokens": rng.choice(NUMBERS),
        "gen_ai.latency.time_to_first_token": _seconds(rng, 0, 40),
        "gen_ai.latency.e2e": _seconds(rng, 0, 40),
    }
    leg = trace.span(
        f"{role} Req ab12", engine, start, end, attributes=_some(rng, attributes), parent_id=gateway.span_id
    )
    spans = [leg]
    for rank in range(rng.choice((1, 1, 2))):
        label = f"{role.title()} Scheduler".strip()
        thread = trace.span(
            f"{label} [TP {rank}]",
            engine,
            start,
            end,
            parent_id=leg.span_id,
            status=rng.choice((0, 0, 2)),
            events=tuple(("retract", trace.moment(-60, 100)) for _ in range(rng.choice((0, 0, 1, 2, 3)))),
            attributes=_some(
                rng, {"thread_label": label, "type": "abort", "status_code": rng.choice(("500", "503"))}, 0.6
            ),
        )
        spans.append(thread)
        above = thread
        for stage in rng.sample(_STAGES, rng.randint(0, 6)):
            above = trace.span(
                stage, engine, *trace.stretch(0, 40), parent_id=rng.choice((thread, above)).span_id,
                attributes={"decode_ct": str(rng.randrange(2))},
            )  # fmt: skip
            spans.append(above)
    return spans


def _some(rng: random.Random, attributes: dict[str, str], each: float = 0.85) -> dict[str, str]:
    return {name: value for name, value in attributes.items() if rng.random() < each}
