"""Pools: whether prefill and decode are in balance, and which worker is hot."""

from dashboards.boards.parts import NO_SIGNAL, POOLS_UID, bad_from
from dashboards.grafana.board import Board, Row
from dashboards.grafana.panels import Column, Kind, Panel
from dashboards.grafana.queries import TIME_SERIES, Sql

_LEVEL = {"time": "time", "role": "text", "value": "number"}
_BY_WORKER = {"time": "time", "name": "text", "value": "number"}


def _over_time(title: str, sql: str, means: str, do: str, unit: str = "short", **given: float) -> Panel:
    return Panel(
        Kind.TIME_SERIES,
        title,
        means,
        do,
        NO_SIGNAL,
        (Sql(f"pools/{sql}", _LEVEL, TIME_SERIES),),
        unit=unit,
        width=8,
        highest=given.get("highest"),
    )


_QUEUE = _over_time(
    "Waiting",
    "queue",
    "Requests waiting in each pool, added up over its workers.",
    "Prefill waits and decode does not: prefill is starved. Decode waits too: look at KV used.",
)
_RUNNING = _over_time(
    "Running",
    "running",
    "Requests being worked on in each pool.",
    "Flat at a ceiling while Waiting grows: the pool is at its batch limit.",
)
_KV = _over_time(
    "KV cache used",
    "kv_used",
    "Used part of the KV cache, mean over the pool's workers.",
    "Near 1 on decode: decode is starved, or orphans pin it (KV hand-off).",
    "percentunit",
    highest=1,
)
_PINNED = _over_time(
    "KV pinned by hand-offs",
    "kv_pinned",
    "Tokens of KV that are held for a hand-off and serve no running request.",
    "Growing while traffic does not: orphaned KV; see KV hand-off.",
)
_PROMPT = _over_time(
    "Prompt tokens a second",
    "prompt_rate",
    "Prompt tokens that each pool takes in, from its own counters.",
    "Prompt work on decode workers is recompute or short follow-ups: see the request's local prompt.",
)
_GENERATED = _over_time(
    "Generated tokens a second",
    "generation_rate",
    "Tokens each pool generates, from its own counters.",
    "Zero while requests run or wait: no progress; restart the worker after taking its stacks.",
)
_PREEMPTIONS = _over_time(
    "Preemptions a second",
    "preemptions",
    "Running decodes that lost their KV to memory pressure.",
    "More than a few: fewer running requests or more KV on decode.",
    "ops",
)
_IMBALANCE = _over_time(
    "Imbalance index",
    "imbalance",
    "The busiest worker's waiting and running requests over the mean of its pool; 1 is even. Pools of one "
    "worker are left out.",
    "Above 2 for minutes: the router prefers a worker; check its policy and prefix affinity.",
)
_FAILURES = _over_time(
    "Transfer failures a second",
    "failures",
    "KV transfers that the engines count as failed.",
    "Any at all: see KV hand-off for the pair.",
    "ops",
)
_HEAT = Panel(
    Kind.HEAT,
    "KV cache used, by worker",
    "One lane a worker, from empty (green) to full (red).",
    "One red lane among green ones is skew; all red is the pool.",
    NO_SIGNAL,
    (Sql("pools/heat", _BY_WORKER, TIME_SERIES),),
    unit="percentunit",
    highest=1,
    height=9,
)
_QUEUE_HEAT = Panel(
    Kind.HEAT,
    "Waiting, by worker",
    "Requests waiting on each worker.",
    "One lane that is always red: that worker is hot; drain it or fix the routing.",
    NO_SIGNAL,
    (Sql("pools/queue_heat", _BY_WORKER, TIME_SERIES),),
    height=9,
)
_NOW = Panel(
    Kind.TABLE,
    "Workers now",
    "The newest reading of each worker. Saturated: requests wait and over nine tenths of the KV cache are "
    "used; 'not known' when one of the two is not exported.",
    "All of one pool saturated and none of the other: change the ratio. Both: add capacity.",
    NO_SIGNAL,
    (
        Sql(
            "pools/now",
            {
                "role": "text",
                "name": "text",
                "queue": "number",
                "running": "number",
                "kv_used": "number",
                "kv_pinned": "number",
                "state": "text",
                "last_reading": "time",
            },
        ),
    ),
    width=24,
    steps=bad_from(0.8, 0.9),
    columns={
        "role": Column(title="Pool"),
        "name": Column(title="Worker"),
        "queue": Column(title="Waiting"),
        "running": Column(title="Running"),
        "kv_used": Column(unit="percentunit", title="KV used"),
        "kv_pinned": Column(title="KV pinned, tokens"),
        "state": Column(title="State"),
        "last_reading": Column(title="Last reading"),
    },
)

POOLS = Board(
    POOLS_UID,
    "Pools",
    "Prefill against decode: queues, load, KV, rates, saturation and balance.",
    (
        Row("Prefill against decode", (_QUEUE, _RUNNING, _KV, _PINNED, _PROMPT, _GENERATED)),
        Row("Workers", (_HEAT, _QUEUE_HEAT, _NOW)),
        Row("Trouble", (_IMBALANCE, _PREEMPTIONS, _FAILURES)),
    ),
    since="now-1h",
)
