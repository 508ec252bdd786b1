"""Names requests: which one each trace of a step belongs to, recorded where the next steps find it.

A trace is its own request until something says otherwise. What that takes to decide is `identity.py`'s; here
the step's traces and those on record are brought before it, and its word is written down.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from analyzer.assemble.identity import Decisions, Known, Span, decide
from analyzer.assemble.scratch import Scratch
from collector.sql import read_sql
from collector.store import Store

_BATCH_TRACES = "SELECT * FROM {scratch:Identifier}.batch_traces"


class Naming:
    """Works on the traces that a step has put into `batch_traces`."""

    def __init__(self, store: Store, scratch: Scratch):
        self._store = store
        self._scratch = scratch

    def name(self, upto: int) -> Decisions | None:
        """Name the step's requests; what had to be decided, None when nothing had. Raises StoreError."""
        conflicts = self._scratch.rows(read_sql(__file__, "sql/conflicts"))
        undecided = {bytes(row[0]) for row in self._scratch.query(read_sql(__file__, "sql/undecided_traces"))}
        undecided.update(bytes(trace) for row in conflicts for trace in row["traces"])
        undecided |= self._recall(undecided, conflicts)
        params = {"upto": upto, "undecided": [trace.hex() for trace in sorted(undecided)]}
        self._run("identity_traces", params)
        self._run("identity_ids", params)
        if not undecided:
            return None
        decisions = self._decide(undecided, conflicts)
        self._record(decisions, upto)
        return decisions

    def _recall(self, undecided: set[bytes], conflicts: Sequence[dict[str, Any]]) -> set[bytes]:
        """Put the traces on record of the requests in question beside the step's own, to decide on all.

        Returns those, and the step's own that are of the same requests.
        """
        recalled: set[bytes] = set()
        asked: dict[bytes, datetime] = {}
        asking = {
            bytes(key): bucket
            for row in conflicts
            for key, bucket in zip(row["known_keys"], row["known_first_buckets"], strict=True)
        }
        while True:
            known = self._scratch.rows("SELECT * FROM {scratch:Identifier}.batch_traces WHERE known")
            for row in known:
                if row["trace_id"] in undecided or row["trace_id"] in recalled:
                    asking[row["known_key"]] = row["known_first_bucket"]
            if asking.keys() <= asked.keys():
                return recalled | {row["trace_id"] for row in known if row["known_key"] in asked}
            asked |= asking
            near = {
                _seconds(bucket) // 600 * 600 + shift for bucket in asked.values() for shift in (-600, 0, 600)
            }
            self._run(
                "recalled_traces",
                {
                    "keys": sorted(key.hex() for key in asked),
                    "buckets": [_time(second) for second in sorted(near)],
                },
            )
            recalled = {
                bytes(row[0])
                for row in self._scratch.query(
                    "SELECT trace_id FROM {scratch:Identifier}.batch_traces WHERE end_ns = 0"
                )
            }

    def _decide(self, undecided: set[bytes], conflicts: Sequence[dict[str, Any]]) -> Decisions:
        traces: dict[bytes, Known] = {}
        minutes: set[datetime] = set()
        for row in self._scratch.rows(_BATCH_TRACES):
            if row["trace_id"] in undecided:
                minutes.update(row["minutes"], row["known_minutes"])
                if row["known"]:
                    traces[row["trace_id"]] = Known(row["known_key"], _seconds(row["known_first_bucket"]))
        names = {row["id"]: _known(row) for row in conflicts}
        spans = [
            Span(
                row["trace_id"], row["span_id"], row["parent_id"], row["resource_id"], row["start_ns"],
                row["end_ns"], bool(row["root"]), tuple(row["ids"]), row["tenant"], bool(row["outside"]),
            )
            for row in self._store.rows(
                read_sql(__file__, "sql/undecided_spans"),
                {"traces": [trace.hex() for trace in sorted(undecided)], "minutes": sorted(minutes)},
            )
        ]  # fmt: skip
        rooted = self._rooted({*traces.values(), *(known for of_name in names.values() for known in of_name)})
        return decide(spans, traces, names, rooted)

    def _rooted(self, known: set[Known]) -> dict[bytes, bool]:
        rows = self._store.query(
            read_sql(__file__, "sql/rooted_keys"),
            {
                "keys": sorted(item.key.hex() for item in known),
                "buckets": sorted({datetime.fromtimestamp(item.first_bucket, UTC) for item in known}),
            },
        )
        return {bytes(row[0]): True for row in rows}

    def _record(self, decisions: Decisions, upto: int) -> None:
        rows: list[list[object]] = []
        batch = {bytes(row["trace_id"]): row for row in self._scratch.rows(_BATCH_TRACES)}
        none, no_root = bytes(16), bytes(8)
        for trace, (key, first_bucket, rule) in decisions.traces.items():
            row = batch[trace]
            bucket = _bucket(row)
            root = row["known_root"] if any(row["known_root"]) else (row["roots"] or [no_root])[0]
            minutes = sorted({*row["minutes"], *row["known_minutes"]})
            tenant = decisions.tenants.get(trace, "")
            rows.append(
                [bucket, 0, trace, key, _time(first_bucket), root, trace, minutes, rule, tenant, upto]
            )
        aliases = _aliases(self._store, (name for name, *_ in decisions.names))
        for name, tenant, key, first_bucket, trace in sorted(decisions.names):
            bucket, alias = _ten_minutes(batch[trace]["start_ns"]), aliases[name]
            # by its key where two tenants bring one name in one trace, or the rows would replace each other
            brought = key if decisions.traces[trace][2] == "shared_trace" else trace
            rows.append(
                [bucket, 1, alias, key, _time(first_bucket), no_root, brought, [], "request_id", tenant, upto]
            )
        for key, trace, first_bucket in decisions.further:
            bucket = _ten_minutes(first_bucket * 1_000_000_000)
            # where the trace's own name is kept: far off, when its clock is
            at = [_bucket(batch[trace])] if trace in batch else []
            rows.append([bucket, 2, key, key, _time(first_bucket), no_root, trace, at, "", "", upto])
        self._store.insert(
            "identity",
            rows,
            [
                "bucket",
                "kind",
                "alias",
                "request_key",
                "first_bucket",
                "root_span_id",
                "trace_id",
                "minutes",
                "rule",
                "tenant",
                "version",
            ],
        )
        if decisions.owners:
            self._store.insert(
                "span_owners",
                [[t, s, r, key or none, upto] for (t, s, r), key in decisions.owners.items()],
                ["trace_id", "span_id", "resource_id", "request_key", "version"],
            )
        if decisions.merged:
            self._store.insert(
                "requests",
                [[_time(bucket), key, upto, 1] for key, bucket in decisions.merged],
                ["first_bucket", "request_key", "version", "tombstone"],
            )

    def _run(self, name: str, params: Mapping[str, object]) -> None:
        self._scratch.command(read_sql(__file__, f"sql/{name}"), params)


def _known(conflict: dict[str, Any]) -> list[Known]:
    """The requests that a name stands for on record."""
    columns = (conflict[f"known_{column}"] for column in ("keys", "first_buckets", "tenants"))
    return [Known(bytes(key), _seconds(at), tenant) for key, at, tenant in zip(*columns, strict=True)]


def _aliases(store: Store, names: Iterable[str]) -> dict[str, bytes]:
    """What names are on record as."""
    sql = "SELECT arrayJoin({names:Array(String)}) AS name, reinterpretAsFixedString(sipHash128(name))"
    return {str(name): bytes(alias) for name, alias in store.query(sql, {"names": sorted(set(names))})}


def _bucket(row: dict[str, Any]) -> datetime:
    """The bucket in which a trace of the step is, or will be, named."""
    return row["known_bucket"] if row["known"] else _ten_minutes(row["start_ns"])


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _ten_minutes(ns: int) -> datetime:
    return datetime.fromtimestamp(ns // 600_000_000_000 * 600, UTC)


def _seconds(value: datetime) -> int:
    return int(value.replace(tzinfo=UTC).timestamp())
