"""SLO overview: how much was promised, how much was kept, and what ate the rest."""

from dashboards.boards.parts import (
    NO_CAUSES,
    NO_RECORD,
    NO_REQUESTS,
    OVERVIEW_UID,
    PERCENTILE,
    WHY_UID,
    bad_from,
    good_from,
)
from dashboards.grafana.board import Board, Row
from dashboards.grafana.links import Link
from dashboards.grafana.panels import Column, Kind, Panel
from dashboards.grafana.queries import TIME_SERIES, Prom, Sql

_ATTAINMENT = Panel(
    Kind.STAT,
    "Attainment",
    "Part of the evaluated requests that met their objective: both limits, TTFT alone, TPOT alone. "
    "A failed request misses both; cancelled and invalid ones do not count.",
    "Below the target, look which limit is missed, then at Misses by cause.",
    NO_REQUESTS,
    (Sql("overview/attainment", {"joint": "number", "ttft": "number", "tpot": "number"}),),
    unit="percentunit",
    width=8,
    height=5,
    highest=1,
    steps=good_from(0.99, 0.95),
    columns={"joint": Column(title="Both"), "ttft": Column(title="TTFT"), "tpot": Column(title="TPOT")},
)
_DOMINANT = Panel(
    Kind.STAT,
    "Dominant cause",
    "The cause with the largest share of the misses in this time range; none while the target is met. "
    "`insufficient_evidence` means that telemetry cannot decide, never a guess. Filters by worker and pool "
    "do not apply to causes.",
    "Open Why for the counts, then the cause's runbook (docs/runbooks).",
    NO_CAUSES,
    (Sql("overview/dominant_cause", {"dominant": "text"}),),
    width=8,
    height=5,
    text=True,
    link=Link("Why", WHY_UID),
    columns={"dominant": Column(title="Cause")},
)
_ACCOUNTING = Panel(
    Kind.STAT,
    "Requests",
    "What became of the requests that started in this time range. Evaluated is met plus missed; incomplete "
    "ones have not said how they ended.",
    "Many incomplete ones point at missing spans: see Telemetry health.",
    NO_REQUESTS,
    (
        Sql(
            "overview/accounting",
            dict.fromkeys(
                ("total", "evaluated", "met", "missed", "cancelled", "invalid", "incomplete"), "number"
            ),
        ),
    ),
    width=8,
    height=5,
)
_BUDGET = Panel(
    Kind.TABLE,
    "Error budget and burn rates",
    "Budget left of each objective's period, and how fast it burns over the hours and days that end with "
    "this time range: 1 spends it in exactly the period. Read from requests up to 90 days back.",
    "Page at 14.4 over 1 h or 6 over 6 h; make a ticket at 3 over 1 d or 1 over 3 d. A budget below 0 is "
    "overspent: stop risky changes.",
    NO_REQUESTS,
    (
        Sql(
            "overview/budget",
            {
                "name": "text",
                "target_ratio": "number",
                "period": "number",
                "budget_left": "number",
                "burn_1h": "number",
                "burn_6h": "number",
                "burn_1d": "number",
                "burn_3d": "number",
            },
        ),
    ),
    lowest=None,
    width=24,
    height=6,
    columns={
        "name": Column(title="Objective"),
        "target_ratio": Column(unit="percentunit", title="Target"),
        "period": Column(unit="d", title="Period"),
        "budget_left": Column(unit="percentunit", title="Budget left"),
        "burn_1h": Column(title="Burn 1 h"),
        "burn_6h": Column(title="Burn 6 h"),
        "burn_1d": Column(title="Burn 1 d"),
        "burn_3d": Column(title="Burn 3 d"),
    },
)
_CAUSES = Panel(
    Kind.TIME_SERIES,
    "Misses by cause",
    "Requests that missed, by cause and the time they started. A miss with several causes is split, so "
    "counts may be fractional.",
    "The tallest colour is what to fix first; open Why for what it cost.",
    NO_CAUSES,
    (
        Sql(
            "overview/causes_over_time", {"time": "time", "reason": "text", "requests": "number"}, TIME_SERIES
        ),
    ),
    stacked=True,
)
_OVER_TIME = Panel(
    Kind.TIME_SERIES,
    "Attainment over time",
    "Part of the evaluated requests of each step that met.",
    "A sudden fall beside a mark (restart, new process) names its suspect.",
    NO_REQUESTS,
    (
        Sql(
            "overview/attainment_over_time",
            {"time": "time", "joint": "number", "ttft": "number", "tpot": "number"},
            TIME_SERIES,
        ),
    ),
    unit="percentunit",
    highest=1,
    columns={"joint": Column(title="Both"), "ttft": Column(title="TTFT"), "tpot": Column(title="TPOT")},
)
_GOODPUT = Panel(
    Kind.TIME_SERIES,
    "Goodput",
    "Requests a second that started, and those of them that met both limits.",
    "A gap that opens as the rate grows is a capacity limit: see Pools.",
    NO_REQUESTS,
    (
        Sql(
            "overview/goodput",
            {"time": "time", "started": "number", "goodput": "number"},
            TIME_SERIES,
        ),
    ),
    unit="reqps",
    columns={"started": Column(title="Started"), "goodput": Column(title="Met both")},
)
_BURN = Panel(
    Kind.TIME_SERIES,
    "Burn rate as alerts see it",
    "Recorded by the alert rules: missed part of evaluated requests over the shortest pair of windows, "
    "divided by the part the target allows.",
    "Both windows of a pair above its factor raise the alert. The short one falling means it is over.",
    NO_RECORD,
    (
        Prom('pdscope:slo_burn_rate:long{slo=~"${objective:regex}", sli="joint", pair="1"}', "{{slo}} long"),
        Prom(
            'pdscope:slo_burn_rate:short{slo=~"${objective:regex}", sli="joint", pair="1"}', "{{slo}} short"
        ),
    ),
    steps=bad_from(1, 14.4),
)
_BUCKETS = Panel(
    Kind.TABLE,
    "Latency by prompt length",
    "Percentiles of TTFT and TPOT by prompt length; a request without a first token counts with the age it "
    "had.",
    "Only long prompts slow: prefill-bound or a link; all alike slow: a queue.",
    NO_REQUESTS,
    (
        Sql(
            "overview/latency_by_bucket",
            {
                "prompt": "text",
                **dict.fromkeys(
                    (
                        "requests",
                        "ttft_p50",
                        "ttft_p95",
                        "ttft_p99",
                        "tpot_p50",
                        "tpot_p95",
                        "tpot_p99",
                    ),
                    "number",
                ),
            },
        ),
    ),
    unit="s",
    columns={
        "prompt": Column(title="Prompt tokens"),
        "requests": Column(unit="short", title="Requests"),
        **{
            f"{metric}_{p}": Column(title=f"{metric.upper()} {p}")
            for metric in ("ttft", "tpot")
            for p in ("p50", "p95", "p99")
        },
    },
)
_TTFT = Panel(
    Kind.TIME_SERIES,
    "TTFT by prompt length",
    "The chosen percentile of the time to the first token, by prompt length.",
    "Compare with the limit of the objective; choose p99 above for the tail.",
    NO_REQUESTS,
    (Sql("overview/ttft_over_time", {"time": "time", "prompt": "text", "ttft": "number"}, TIME_SERIES),),
    unit="s",
)
_COHORTS = Panel(
    Kind.TABLE,
    "Cohorts side by side",
    "What each cohort (pd.cohort) reached in this time range. Unlike traffic makes an unlike comparison: "
    "check prompt lengths first.",
    "For a comparison with intervals and a check of likeness, run `pdscope compare`.",
    NO_REQUESTS,
    (
        Sql(
            "overview/cohorts",
            {
                "name": "text",
                **dict.fromkeys(
                    ("judged", "attainment", "goodput", "ttft_p50", "ttft_p95", "tpot_p50", "tpot_p95"),
                    "number",
                ),
            },
        ),
    ),
    unit="s",
    width=24,
    height=6,
    columns={
        "name": Column(title="Cohort"),
        "judged": Column(unit="short", title="Evaluated"),
        "attainment": Column(unit="percentunit", title="Attainment"),
        "goodput": Column(unit="reqps", title="Goodput"),
        **{
            f"{metric}_{p}": Column(title=f"{metric.upper()} {p}")
            for metric in ("ttft", "tpot")
            for p in ("p50", "p95")
        },
    },
)

SLO_OVERVIEW = Board(
    OVERVIEW_UID,
    "SLO overview",
    "Attainment, goodput, error budget and burn rates, and what the misses are due to.",
    (
        Row("Now", (_ATTAINMENT, _DOMINANT, _ACCOUNTING, _BUDGET)),
        Row("Over time", (_CAUSES, _OVER_TIME, _GOODPUT, _BURN)),
        Row("Latency", (_BUCKETS, _TTFT)),
        Row("Before and after", (_COHORTS,)),
    ),
    variables=(PERCENTILE,),
)
