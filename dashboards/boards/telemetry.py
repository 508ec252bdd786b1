"""Telemetry health: what is seen, what is missing, how late, how much is kept."""

from dashboards.boards.parts import NO_RECORD, NO_REQUESTS, NO_SIGNAL, TELEMETRY_UID, bad_from
from dashboards.grafana.board import Board, Row
from dashboards.grafana.panels import Column, Kind, Panel
from dashboards.grafana.queries import TIME_SERIES, Prom, Sql


def _own(
    title: str,
    expr: str,
    legend: str,
    means: str,
    do: str,
    unit: str = "short",
    kind: Kind = Kind.TIME_SERIES,
) -> Panel:
    return Panel(kind, title, means, do, NO_RECORD, (Prom(expr, legend),), unit=unit, width=8)


_LAG = Panel(
    Kind.STAT,
    "Behind",
    "Stored inserts that requests do not yet take into account.",
    "More than a few hundred for minutes: pdscope is short of CPU; answers are late, not wrong.",
    NO_RECORD,
    (Prom("max(pdscope_assembly_lag_inserts)", "inserts", instant=True),),
    width=8,
    height=5,
    steps=bad_from(100, 1000),
)
_FRESH = Panel(
    Kind.STAT,
    "Figures on /metrics are this old",
    "How long ago the figures that alerts read were taken from the store.",
    "Above a minute: alerts see an old state; check pdscope's log and the store.",
    NO_RECORD,
    (Prom("time() - min(pdscope_export_timestamp_seconds)", "age", instant=True),),
    unit="s",
    width=8,
    height=5,
    steps=bad_from(30, 60),
)
_SIZE = Panel(
    Kind.STAT,
    "Store size",
    "Bytes on disk of all tables of the store.",
    "Grows without end: set a retention.",
    NO_RECORD,
    (Prom("sum(pdscope_store_bytes)", "bytes", instant=True),),
    unit="decbytes",
    width=8,
    height=5,
)
_RECEIVED = _own(
    "Spans received",
    "sum by (transport) (rate(pdscope_received_spans_total[$__rate_interval]))",
    "{{transport}}",
    "Spans a second that were received whole.",
    "A fall to zero while requests are served: an exporter or the network is broken.",
    "ops",
)
_REFUSED = _own(
    "Refused and dropped",
    "sum by (reason) (rate(pdscope_refused_spans_total[$__rate_interval])) or "
    "sum by (reason) (rate(pdscope_refused_exports_total[$__rate_interval]))",
    "{{reason}}",
    "Spans kept out, and exports answered with an error, by reason.",
    "Anything but zero is data that verdicts lack; the reason says what to fix.",
    "ops",
)
_TABLES = _own(
    "Store by table",
    "topk(8, pdscope_store_bytes)",
    "{{table}}",
    "Bytes on disk of the largest tables.",
    "Spans and signals are the record, the rest is derived and can be rebuilt.",
    "decbytes",
)
_SYSTEMS = Panel(
    Kind.TABLE,
    "Serving systems",
    "Requests by the system they came from, and what telemetry left open about them.",
    "Unjoined or without TTFT: the router's span is missing; docs/instrumenting.md says how to get it.",
    NO_REQUESTS,
    (
        Sql(
            "telemetry/systems",
            {
                "name": "text",
                **dict.fromkeys(
                    ("requests", "without_outcome", "without_ttft", "unjoined", "late", "duplicates"),
                    "number",
                ),
                "newest": "time",
            },
        ),
    ),
    columns={
        "name": Column(title="System"),
        "without_outcome": Column(title="No outcome"),
        "without_ttft": Column(title="No TTFT"),
        "unjoined": Column(title="No request span"),
        "late": Column(title="Late spans"),
        "duplicates": Column(title="Duplicate spans"),
    },
)
_TROUBLE = Panel(
    Kind.TIME_SERIES,
    "Requests that telemetry is short of",
    "Requests without their request span, with spans that came late or twice, without a first token.",
    "A step up at a restart is normal; one that stays is a broken exporter or propagation.",
    NO_REQUESTS,
    (
        Sql(
            "telemetry/trouble",
            {
                "time": "time",
                **dict.fromkeys(("unjoined", "late", "duplicated", "without_ttft"), "number"),
            },
            TIME_SERIES,
        ),
    ),
)
_SIGNALS = Panel(
    Kind.TABLE,
    "Pool signals seen",
    "Signals that arrived, from which pools and how many workers, and the newest point.",
    "A pool without queue_depth or kv_used_fraction cannot be told starved from idle: export its metrics.",
    NO_SIGNAL,
    (
        Sql(
            "telemetry/signals",
            {"name": "text", "role": "text", "workers": "number", "points": "number", "newest": "time"},
        ),
    ),
    columns={"name": Column(title="Signal"), "role": Column(title="Pool")},
)
_PROCESSES = Panel(
    Kind.TABLE,
    "Processes",
    "Processes that sent telemetry, newest first, with the pool and version they state.",
    "A worker that is missing here sends nothing; one that appears often crashes.",
    "No process has sent telemetry yet.",
    (
        Sql(
            "telemetry/processes",
            {
                "service": "text",
                "worker": "text",
                "pool": "text",
                "version": "text",
                "gpus": "number",
                "first_seen": "time",
            },
        ),
    ),
)
_CLOCKS = Panel(
    Kind.TABLE,
    "Clocks",
    "How far the instant of a first token may be off because clocks of two hosts are compared. Empty: no "
    "bound is known.",
    "More than a few milliseconds: check time synchronisation of the hosts.",
    NO_REQUESTS,
    (
        Sql(
            "telemetry/clocks",
            {"seen_by": "text", "requests": "number", "p50": "number", "p99": "number"},
        ),
    ),
    unit="s",
    columns={"seen_by": Column(title="First token seen by"), "requests": Column(unit="short")},
)
_OFFSETS = Panel(
    Kind.TABLE,
    "Clock offsets",
    "By how much each worker's clock ran ahead of its router's, as the order of causes and effects bounds "
    "it; it was subtracted from the worker's spans. Torn: five minutes in which no offset fits.",
    "More than a few milliseconds: fix time synchronisation on that host. Torn: its clock jumped.",
    "No worker's clock was found to be off in this time range.",
    (
        Sql(
            "telemetry/clock_offsets",
            {"worker": "text", **dict.fromkeys(("newest", "largest", "low", "high", "torn"), "number")},
        ),
    ),
    unit="s",
    columns={
        "worker": Column(title="Worker"),
        "newest": Column(title="Newest"),
        "largest": Column(title="Largest"),
        "low": Column(title="At least"),
        "high": Column(title="At most"),
        "torn": Column(unit="short", title="Torn"),
    },
)

TELEMETRY = Board(
    TELEMETRY_UID,
    "Telemetry health",
    "What pdscope sees and misses, how late it is, and what it keeps.",
    (
        Row("pdscope itself", (_LAG, _FRESH, _SIZE, _RECEIVED, _REFUSED, _TABLES)),
        Row("What is seen", (_SYSTEMS, _TROUBLE, _SIGNALS, _PROCESSES)),
        Row("How sure it is", (_CLOCKS, _OFFSETS)),
    ),
)
