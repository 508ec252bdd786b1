"""KV hand-off: transfer time and rate by pair, failures, orphans and late reads."""

from dashboards.boards.parts import HAND_OFF_UID, NO_TRANSFERS, TO_REQUEST
from dashboards.grafana.board import Board, Row
from dashboards.grafana.panels import Column, Kind, Panel
from dashboards.grafana.queries import TIME_SERIES, Sql

_TIME = Panel(
    Kind.TIME_SERIES,
    "Transfer time",
    "From asking for the KV until its last byte was there.",
    "Compare with the exposed kv_transfer on Why: time hidden under prefill costs nobody.",
    NO_TRANSFERS,
    (
        Sql(
            "handoff/transfer_time",
            {"time": "time", "p50": "number", "p95": "number", "p99": "number"},
            TIME_SERIES,
        ),
    ),
    unit="s",
    width=8,
)
_BYTES = Panel(
    Kind.TIME_SERIES,
    "Bytes handed over",
    "Bytes a second of all hand-offs, by the time they began.",
    "At the line rate of the link: contention; far below it with slow transfers: the path or the posting.",
    "No hand-off said how many bytes it moved; only some connectors do.",
    (Sql("handoff/bytes", {"time": "time", "per_second": "number"}, TIME_SERIES),),
    unit="Bps",
    width=8,
    columns={"per_second": Column(title="Bytes a second")},
)
_RATE = Panel(
    Kind.TIME_SERIES,
    "Effective rate",
    "Bytes over transfer time of single transfers: the median and the slowest twentieth.",
    "Both low: a slow link or a fallback to TCP; only the slow ones: contention or one bad pair.",
    "No hand-off has both bytes and a transfer time.",
    (Sql("handoff/rate", {"time": "time", "p50": "number", "p5": "number"}, TIME_SERIES),),
    unit="Bps",
    width=8,
)
_PAIRS = Panel(
    Kind.TABLE,
    "Pairs",
    "Hand-offs by producing and consuming worker. Posting: part of the transfer time spent posting "
    "descriptors.",
    "One slow pair: its NIC or route. High posting share: merge blocks. 'tcp' where RDMA is expected: the "
    "transport fell back.",
    NO_TRANSFERS,
    (
        Sql(
            "handoff/pairs",
            {
                "pair": "text",
                **dict.fromkeys(
                    ("handoffs", "moved", "rate_p50", "rate_p5", "link", "posting", "failed"), "number"
                ),
                "over": "text",
            },
        ),
    ),
    width=24,
    columns={
        "pair": Column(title="Pair"),
        "handoffs": Column(title="Hand-offs"),
        "moved": Column(unit="decbytes", title="Moved"),
        "rate_p50": Column(unit="Bps", title="Rate p50"),
        "rate_p5": Column(unit="Bps", title="Rate p5"),
        "link": Column(unit="Bps", title="Line rate"),
        "posting": Column(unit="percentunit", title="Posting"),
        "failed": Column(title="Failed"),
        "over": Column(title="Transport"),
    },
)
_STATUS = Panel(
    Kind.TIME_SERIES,
    "How transfers ended",
    "Hand-offs by the status their spans report. 'not reported' is common: few connectors say it.",
    "Failed ones: look at the pair above, then at restarts of either worker (marks).",
    NO_TRANSFERS,
    (Sql("handoff/status", {"time": "time", "ended": "text", "handoffs": "number"}, TIME_SERIES),),
    stacked=True,
    width=8,
)
_POSTING = Panel(
    Kind.TIME_SERIES,
    "Posting share",
    "Median part of the transfer time that went into posting descriptors, not into bytes.",
    "Above a third: many small blocks; use larger blocks or a connector that merges them.",
    "No hand-off reports the time spent posting; the traced connector does.",
    (Sql("handoff/posting", {"time": "time", "median": "number"}, TIME_SERIES),),
    unit="percentunit",
    highest=1,
    width=8,
)
_HOLDINGS = Panel(
    Kind.TIME_SERIES,
    "What became of KV",
    "KV published by prefill or reserved on decode, by what became of it. Expired, aborted, held and "
    "never_filled are orphans.",
    "Expired ones among served requests: the lease is too short. Held ones: leases are not enforced.",
    NO_TRANSFERS,
    (Sql("handoff/holdings", {"time": "time", "became": "text", "handoffs": "number"}, TIME_SERIES),),
    stacked=True,
    width=8,
)
_COST = Panel(
    Kind.TIME_SERIES,
    "What orphans cost",
    "Bytes × seconds that orphaned KV was held, by the time it began.",
    "A cost that grows with cancellations: cancelled requests must reach both pools.",
    "No orphan in this time range, or none that says its size.",
    (Sql("handoff/orphan_cost", {"time": "time", "side": "text", "cost": "number"}, TIME_SERIES),),
    unit="decbytes",
    width=8,
)
_ORPHANS = Panel(
    Kind.TABLE,
    "Orphaned KV",
    "KV that no request will ever read, or room that was never filled, dearest first.",
    "Open a request to see why its decode never came; docs/runbooks/orphaned_kv.unclaimed.md.",
    "No orphaned KV in this time range.",
    (
        Sql(
            "handoff/orphans",
            {
                "key": "text",
                "transfer_id": "text",
                "side": "text",
                "worker": "text",
                "state": "text",
                "since": "time",
                "held_seconds": "number",
                "lease_seconds": "number",
                "held_bytes": "number",
                "byte_seconds": "number",
            },
        ),
    ),
    width=16,
    link=TO_REQUEST,
    columns={
        "key": Column(title="Request"),
        "transfer_id": Column(title="Transfer"),
        "held_seconds": Column(unit="s", title="Held"),
        "lease_seconds": Column(unit="s", title="Lease"),
        "held_bytes": Column(unit="decbytes", title="Size"),
        "byte_seconds": Column(unit="short", title="Bytes × seconds"),
    },
)
_LATE = Panel(
    Kind.TABLE,
    "Late reads",
    "KV that was read after its lease had ended: the blocks may have held another request's data, and the "
    "answer may be wrong although it says success.",
    "Treat those answers as suspect. Lengthen the lease above the longest wait for decode.",
    "No KV was read after its lease in this time range.",
    (
        Sql(
            "handoff/late_reads",
            {
                "key": "text",
                "transfer_id": "text",
                "producer": "text",
                "consumer": "text",
                "since": "time",
                "held_seconds": "number",
                "lease_seconds": "number",
            },
        ),
    ),
    width=8,
    link=TO_REQUEST,
    columns={
        "key": Column(title="Request"),
        "transfer_id": Column(title="Transfer"),
        "held_seconds": Column(unit="s", title="Held"),
        "lease_seconds": Column(unit="s", title="Lease"),
    },
)

HAND_OFF = Board(
    HAND_OFF_UID,
    "KV hand-off",
    "Transfer time and rate by pair, failures, orphaned KV and late reads.",
    (
        Row("Transfers", (_TIME, _BYTES, _RATE, _PAIRS)),
        Row("Endings", (_STATUS, _HOLDINGS, _COST)),
        Row("Orphans and late reads", (_ORPHANS, _LATE)),
        Row("Detail", (_POSTING,)),
    ),
    since="now-1h",
)
