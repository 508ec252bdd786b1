"""Why: for on-call. Causes, where the time went for those that missed, and the requests to look at."""

from dashboards.boards.parts import (
    NO_CAUSES,
    NO_MISSES,
    NO_REQUESTS,
    PERCENTILE,
    PHASES,
    TO_REQUEST,
    WHY_UID,
)
from dashboards.grafana.board import Board, Row
from dashboards.grafana.links import Link
from dashboards.grafana.panels import Column, Kind, Panel
from dashboards.grafana.queries import TIME_SERIES, Sql

_CAUSES = Panel(
    Kind.TABLE,
    "Causes",
    "Why requests missed: counts and share by cause, what the cause added to a request in the mean (empty: "
    "not known), and how many would have met without it (the timeline laid again, not a subtraction).",
    "Take the first row with a high 'would have met'; its runbook is docs/runbooks/<cause>.md.",
    NO_CAUSES,
    (
        Sql(
            "why/causes",
            {
                "reason": "text",
                **dict.fromkeys(("missed", "share", "excess_ttft", "excess_tpot", "met_without"), "number"),
            },
        ),
    ),
    width=24,
    columns={
        "reason": Column(title="Cause"),
        "missed": Column(title="Missed"),
        "share": Column(unit="percentunit", title="Share"),
        "excess_ttft": Column(unit="s", title="Added to TTFT"),
        "excess_tpot": Column(unit="s", title="Added to TPOT"),
        "met_without": Column(title="Would have met without it"),
    },
)
_PART = {"time": "time", "part": "text", "value": "number"}
_MISSED = Panel(
    Kind.TIME_SERIES,
    "Exposed time of requests that missed",
    "The chosen percentile of each part of TTFT, stacked in pipeline order. Parts of one request add up to "
    "its TTFT; percentiles of parts need not.",
    "The part that is tall here and low on the right is where to look: a queue means capacity or balance, "
    "kv_transfer the link, unattributed missing spans.",
    NO_MISSES,
    (Sql("why/exposed_missed", _PART, TIME_SERIES),),
    unit="s",
    stacked=True,
    columns=PHASES,
    height=10,
)
_MET = Panel(
    Kind.TIME_SERIES,
    "Exposed time of requests that met",
    "The same parts for requests that met their objective: what is normal.",
    "Compare with the left. Nothing here at all: every request missed.",
    NO_REQUESTS,
    (Sql("why/exposed_met", _PART, TIME_SERIES),),
    unit="s",
    stacked=True,
    columns=PHASES,
    height=10,
)
_LONGEST = Panel(
    Kind.TIME_SERIES,
    "Misses by longest part",
    "Requests that missed, by the part of TTFT that held them longest; `decode` when only TPOT was missed.",
    "This is where they waited, not yet why: the same queue fills for several causes.",
    NO_MISSES,
    (Sql("why/longest_phase", {"time": "time", "part": "text", "requests": "number"}, TIME_SERIES),),
    stacked=True,
    columns=PHASES,
)
_WORKERS = Panel(
    Kind.TABLE,
    "Misses by worker pair",
    "Evaluated and missed requests by the prefill and decode worker that served them.",
    "One worker far above its siblings: skew or a bad link; all alike: the pool.",
    NO_REQUESTS,
    (
        Sql(
            "why/by_worker",
            {
                "prefill": "text",
                "decode": "text",
                **dict.fromkeys(("judged", "missed", "missed_share", "ttft_p95"), "number"),
            },
        ),
    ),
    link=Link(
        "Pool of its prefill worker", "pdscope-pools", (("worker", "${__data.fields.Prefill:percentencode}"),)
    ),
    columns={
        "prefill": Column(title="Prefill"),
        "decode": Column(title="Decode"),
        "judged": Column(title="Evaluated"),
        "missed": Column(title="Missed"),
        "missed_share": Column(unit="percentunit", title="Missed part"),
        "ttft_p95": Column(unit="s", title="TTFT p95"),
    },
)
_FINDINGS = Panel(
    Kind.TABLE,
    "Findings",
    "What was found about the fleet and its telemetry, as `GET /diagnosis` finds it five minutes and a model "
    "at a time: its worst severity, in how many five minutes it held, the most requests it concerned in one "
    "of them, and its newest words.",
    "Critical ones first: they may be worse than any miss. A finding says what to do in docs/verdicts.md.",
    "Nothing was found about the fleet or its telemetry in this time.",
    (
        Sql(
            "why/findings",
            {
                "found": "text",
                "worst": "text",
                "held": "number",
                "seen": "time",
                "most_requests": "number",
                "words": "text",
            },
        ),
    ),
    width=24,
    columns={
        "found": Column(title="Finding"),
        "worst": Column(title="Severity"),
        "held": Column(title="Times 5 min"),
        "seen": Column(title="Last seen"),
        "most_requests": Column(title="Requests"),
        "words": Column(title="Detail"),
    },
)
_NOTES = Panel(
    Kind.TABLE,
    "Notes on requests",
    "Facts that the spans of requests give away, beside causes: spans that were missing, impossible "
    "durations, success that hid a failure.",
    "Fix what touches many requests first: causes are only as good as the telemetry.",
    "Nothing odd was found in the spans of these requests.",
    (
        Sql(
            "why/notes",
            {"note": "text", "requests": "number", "missed": "number", "example": "text"},
        ),
    ),
    width=8,
    link=Link(
        "Open the example", "pdscope-request", (("request", "${__data.fields.Example:percentencode}"),)
    ),
    columns={
        "note": Column(title="Note"),
        "requests": Column(title="Requests"),
        "missed": Column(title="Missed"),
        "example": Column(title="Example"),
    },
)
_SLOWEST = Panel(
    Kind.TABLE,
    "Slowest requests",
    "The 50 requests that waited longest for their first token, or have waited so long without one.",
    "Open one of each kind: its waterfall shows the wait, its verdict the evidence.",
    NO_REQUESTS,
    (
        Sql(
            "why/slowest",
            {
                "key": "text",
                "request_id": "text",
                "started": "time",
                "judged_by": "text",
                "account": "text",
                "ended": "text",
                "ttft": "number",
                "tpot": "number",
                "input_tokens": "number",
                "longest": "text",
                "prefill": "text",
                "decode": "text",
            },
        ),
    ),
    width=16,
    link=TO_REQUEST,
    columns={
        "key": Column(title="Request"),
        "request_id": Column(title="Id"),
        "started": Column(title="Started"),
        "judged_by": Column(title="Objective"),
        "account": Column(title="Result"),
        "ended": Column(title="Outcome"),
        "ttft": Column(unit="s", title="TTFT"),
        "tpot": Column(unit="s", title="TPOT"),
        "input_tokens": Column(title="Prompt"),
        "longest": Column(title="Longest part"),
        "prefill": Column(title="Prefill"),
        "decode": Column(title="Decode"),
    },
)

WHY = Board(
    WHY_UID,
    "Why",
    "Why requests missed: causes, findings, exposed time and the slowest requests.",
    (
        Row("Causes", (_CAUSES, _FINDINGS)),
        Row("Where the time went", (_MISSED, _MET, _LONGEST, _WORKERS)),
        Row("Requests", (_SLOWEST, _NOTES)),
    ),
    variables=(PERCENTILE,),
    since="now-1h",
)
