"""Request: one request's waterfall, verdict and evidence."""

from dashboards.boards.parts import CHOOSE, PHASES, REQUEST_UID
from dashboards.grafana.board import Board, Row
from dashboards.grafana.panels import Column, Kind, Panel
from dashboards.grafana.queries import TABLE, TRACES, Sql
from dashboards.grafana.variables import text_box

_FACTS = Panel(
    Kind.TABLE,
    "The request",
    "What is known of it. Several rows: several requests bear this id. Empty cells were not measured.",
    "Check `TTFT from`: an engine's own first token is not what the client saw.",
    CHOOSE,
    (
        Sql(
            "request/facts",
            {
                "key": "text",
                "request_id": "text",
                "trace_id": "text",
                "started_at": "time",
                "ttft_seconds": "number",
                "tpot_seconds": "number",
                "e2e_seconds": "number",
                "ended": "text",
                "remarks": "text",
            },
        ),
    ),
    width=24,
    height=5,
    columns={
        "ttft_seconds": Column(unit="s", title="TTFT"),
        "ttft_from": Column(title="TTFT from"),
        "ttft_uncertainty_seconds": Column(unit="s", title="± clocks"),
        "tpot_seconds": Column(unit="s", title="TPOT"),
        "e2e_seconds": Column(unit="s", title="End to end"),
    },
)
_VERDICT = Panel(
    Kind.TABLE,
    "Verdict",
    "How the objectives in force judge it, beside their limits, and its causes with their shares of the "
    "miss, judged among the requests of its five minutes. No value: it is not evaluated; the account "
    "says why.",
    "The cause's runbook says how to confirm it. `insufficient_evidence`: see which phase is unattributed.",
    CHOOSE,
    (
        Sql(
            "request/verdict",
            {
                "judged_by": "text",
                "account": "text",
                "reason": "text",
                "met_without": "text",
                "met_ttft": "number",
                "met_tpot": "number",
                "ttft": "number",
                "ttft_limit": "number",
                "tpot": "number",
                "tpot_limit": "number",
            },
        ),
    ),
    width=24,
    height=5,
    columns={
        "judged_by": Column(title="Objective"),
        "reason": Column(title="Causes"),
        "met_without": Column(title="Would have met without"),
        **{
            name: Column(unit="s", title=title)
            for name, title in (
                ("ttft", "TTFT"),
                ("ttft_limit", "TTFT limit"),
                ("tpot", "TPOT"),
                ("tpot_limit", "TPOT limit"),
            )
        },
    },
)
_TRACE = Panel(
    Kind.TRACES,
    "Waterfall of spans",
    "The request's spans as its processes sent them, clocks not corrected. Nesting says who called whom, "
    "not what a phase cost.",
    "A long bar with nothing below it is where a span is missing.",
    CHOOSE,
    (
        Sql(
            "request/trace",
            {
                "traceID": "text",
                "spanID": "text",
                "parentSpanID": "text",
                "serviceName": "text",
                "operationName": "text",
                "startTime": "number",
                "duration": "number",
                "tags": "list",
                "serviceTags": "list",
                "statusCode": "number",
                "kind": "text",
                "statusMessage": "text",
                "logs": "list",
            },
            TRACES,
        ),
    ),
    width=24,
    height=14,
)
_BARS = {"part": "text", "seconds": "number"}
_EXPOSED = Panel(
    Kind.BAR_GAUGE,
    "Where TTFT went",
    "TTFT cut into the parts that were exposed: they add up to it. Overlapped time counts for the earliest "
    "phase.",
    "The longest bar is what the client waited for.",
    CHOOSE,
    (Sql("request/exposed", _BARS, TABLE),),
    unit="s",
    columns=PHASES,
)
_DECODE = Panel(
    Kind.BAR_GAUGE,
    "Where decode time went",
    "The time from the first to the last token, by what it was spent on.",
    "Preempted, recompute or handoff above nothing: not an ordinary decode.",
    "This request has no decode time: one token, or it never ended.",
    (Sql("request/decode", _BARS, TABLE),),
    unit="s",
)
_PHASES = Panel(
    Kind.TABLE,
    "Phases",
    "Every phase interval in order, from the request's start. 'within …' is one timing that holds several "
    "phases. Bounded and derived ones are less sure than observed ones.",
    "Compare the offsets of prefill's end and decode's start: what lies between is the hand-off.",
    CHOOSE,
    (
        Sql(
            "request/phases",
            {
                "name": "text",
                "worker": "text",
                "attempt": "number",
                "offset_seconds": "number",
                "seconds": "number",
                "known": "text",
                "why": "text",
            },
        ),
    ),
    columns={
        "name": Column(title="Phase"),
        "offset_seconds": Column(unit="s", title="From start"),
        "seconds": Column(unit="s", title="Took"),
        "known": Column(title="Source"),
        "why": Column(title="Why"),
    },
    lowest=None,
)
_TRANSFERS = Panel(
    Kind.TABLE,
    "KV hand-offs",
    "The request's KV: who published it, who read it, how it went.",
    "More than one: retries, or a router that dispatched twice.",
    "No hand-off of this request was seen.",
    (
        Sql(
            "request/transfers",
            {
                "transfer_id": "text",
                "producer": "text",
                "consumer": "text",
                "status": "text",
                "bytes": "number",
                "transfer_seconds": "number",
                "rate": "number",
            },
        ),
    ),
    columns={
        "bytes": Column(unit="decbytes", title="Bytes"),
        "transfer_seconds": Column(unit="s", title="Took"),
        "rate": Column(unit="Bps", title="Rate"),
        "post_share": Column(unit="percentunit", title="Posting"),
    },
)

REQUEST = Board(
    REQUEST_UID,
    "Request",
    "One request: its waterfall, where its time went, its verdict.",
    (
        Row("What and whether", (_FACTS, _VERDICT)),
        Row("Waterfall", (_TRACE,)),
        Row("Time", (_EXPOSED, _DECODE, _PHASES, _TRANSFERS)),
    ),
    variables=(text_box("request", "Request", "A request id, pdscope's key, or a trace id."),),
    refresh="",
)
