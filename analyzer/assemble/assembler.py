"""Rebuilds requests from newly stored spans, step by step on the ingest sequence.

A step is idempotent: cut short by a crash it is done again, and the higher version of a row wins. Nothing
here loops over spans; Python only decides identity where traces and requests are not one to one.
"""

import logging
import math
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from analyzer.assemble.clock_work import slices_to_correct
from analyzer.assemble.crew import SHARES
from analyzer.assemble.identity import Decisions, Known, Span, decide
from analyzer.assemble.names import NameLimits, Names
from analyzer.assemble.rules_table import write_rules
from analyzer.assemble.scratch import Scratch
from analyzer.signals import write_signal_rules
from collector.engines import ADAPTERS
from collector.engines.rules import Adapter, Role
from collector.errors import CollectorError
from collector.sql import read_sql
from collector.store import Store

log = logging.getLogger(__name__)

GRACE_S = 60.0
"""How long (seconds after its last span) a request may lack its request span before its legs are shown
alone.
"""

REVIEW_S = 6 * 3600
"""How far back (seconds) requests are judged again."""

REVIEW_EVERY_S = 5.0
"""How often (seconds, at most) requests are judged again while nothing new arrives."""

MAX_PAUSE_S = 3.0
"""Longest pause (seconds) between steps while there is something to do: what a slow machine may be behind."""

LATE_AFTER_S = 3
"""A span is late when it comes so long (seconds) after the others of a request that was complete."""

STEP_SEQUENCES = 64
"""Most inserts taken into one step, which bounds its memory."""

DEFAULT_ROLES: tuple[tuple[str, Role], ...] = (
    (r"(?i)prefill", Role.PREFILL),
    (r"(?i)decode", Role.DECODE),
    (r"(?i)(router|frontend|gateway|proxy)", Role.ROUTER),
)
"""What a process is taken for by its service name when nothing better says it."""


_BATCH_TRACES = "SELECT * FROM {scratch:Identifier}.batch_traces"


@dataclass(frozen=True)
class Progress:
    """How far assembly is: sequences taken into account and stored; seconds the last step took."""

    taken: int
    stored: int
    last_step_s: float

    @property
    def settled(self) -> bool:
        """True when every stored span has been taken into account."""
        return self.taken >= self.stored


class Assembler:
    """Keeps `requests` up to date with `spans`. One per store; start() runs it on a thread of its own."""

    def __init__(
        self,
        store: Store,
        adapters: Sequence[Adapter] = ADAPTERS,
        roles: Iterable[tuple[str, Role]] = (),
        grace_s: float = GRACE_S,
        late_after_s: int = LATE_AFTER_S,
        names: NameLimits | None = None,
        scratch: Scratch | None = None,
    ):
        """roles: (RE2 pattern of a service name or instance, role) from the settings; they outrank the
        defaults.
        """
        self._store = store
        self._scratch = scratch or Scratch(store)
        self._adapters = adapters
        self._roles = [*((p, r, True) for p, r in roles), *((p, r, False) for p, r in DEFAULT_ROLES)]
        self._shares: tuple[int, ...] = ()
        self._grace_s = grace_s
        self._late_after_s = late_after_s
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._step_lock = threading.Lock()
        self._last_step_s = 0.0
        self._decided: set[bytes] = set()
        self._reviewed = -math.inf
        self._oldest_new: int | None = None
        self._write_rules()
        rows = store.query(read_sql(__file__, "sql/progress"))
        self._taken = int(rows[0][0]) if rows else 0
        self.names = Names(store, self._scratch, names or NameLimits())
        """The names that requests carry, held to their limits."""

    def leads(self) -> bool:
        """Whether this process does what has to be done once for a store."""
        return True

    def progress(self) -> Progress:
        """How far assembly is."""
        return Progress(self._taken, self._store.last_sequence, self._last_step_s)

    def start(self, interval_s: float = 0.5) -> None:
        """Assemble on a thread: every `interval_s`, less often where a step takes long, so that receiving
        keeps most of the machine, but at least every `MAX_PAUSE_S`.
        """
        self._thread = threading.Thread(target=self._run, args=(interval_s,), name="assembler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish the step under way and stop."""
        self._stop.set()
        self._wake.set()
        if self._thread:
            self._thread.join()

    def wake(self) -> None:
        """Say that new spans were stored."""
        self._wake.set()

    def catch_up(self) -> Progress:
        """Take every stored span into account, then return."""
        while self.step():
            pass
        with self._step_lock:
            self._review()
        return self.progress()

    def step(self) -> bool:
        """Take the next inserts into account; False when there was nothing to do."""
        with self._step_lock:
            stored = self._store.last_sequence
            after, upto = self._taken, min(stored, self._taken + STEP_SEQUENCES)
            if upto <= after and not self._review_due():
                return False
            began = time.monotonic()
            if upto > after:
                self._assemble(after, upto)
                self._store.insert(
                    "assembly_progress", [[0, upto, upto]], ["id", "ingest_sequence", "version"]
                )
                self._taken = upto
            else:
                self._review()
            self._last_step_s = time.monotonic() - began
            return upto > after

    def _run(self, interval_s: float) -> None:
        while not self._stop.is_set():
            try:
                busy = self.step()
            except CollectorError as error:
                log.error("assembly step failed; it will be tried again: %s", error)
                self._stop.wait(2.0)
                continue
            except Exception:
                log.exception("assembly step failed; it will be tried again")
                self._stop.wait(2.0)
                continue
            pause = min(max(interval_s, 6 * self._last_step_s), MAX_PAUSE_S) if busy else interval_s
            if self._taken < self._store.last_sequence - STEP_SEQUENCES:
                pause = 0.0
            self._wake.wait(pause)
            self._wake.clear()

    def _review_due(self) -> bool:
        return self._oldest_new is not None and time.monotonic() - self._reviewed > REVIEW_EVERY_S

    def _assemble(self, after: int, upto: int) -> None:
        window = {"after": after, "upto": upto}
        self._clear()
        self._forget_cut_short(after)
        self._do("span_facts", window)
        self._do("batch_traces", window)
        decisions = self._name_requests(upto)
        self._decided = {key for key, _, _ in decisions.traces.values()} if decisions else set()
        self._rebuild(upto)
        self._look_back()
        self._correct_clocks(upto)

    def _look_back(self) -> None:
        """Remember how far back the step's requests reach: they are reviewed soon."""
        oldest = self._scratch.query(
            "SELECT toUInt32(min(first_bucket)), count() FROM {scratch:Identifier}.batch_requests"
        )[0]
        if oldest[1]:
            self._oldest_new = min(int(oldest[0]), self._oldest_new or int(oldest[0]))

    def _write_rules(self) -> None:
        write_rules(self._store, self._scratch, self._adapters, self._roles)
        write_signal_rules(self._store, self._adapters)

    def _review(self) -> None:
        """Judge again what only time can tell: requests without a request span, and streams nobody
        reported the end of.
        """
        now = time.time()
        self._reviewed = time.monotonic()
        since = int(now) - REVIEW_S
        self._clear()
        self._scratch.command("TRUNCATE TABLE {scratch:Identifier}.worker_life")
        self._do("worker_life", {"since": self._review_from(since)})
        self._do("unfinished", {"since": self._review_from(since)})
        self._do("rootless", {"before": int((now - self._grace_s) * 1e9), "since": self._review_from(since)})
        self._rebuild(self._taken)
        self._oldest_new = None

    def _correct_clocks(self, upto: int) -> None:
        """Assemble again what stands on clocks that turn out to differ; once, as offsets then agree."""
        for slice_ in slices_to_correct(self._store, self._scratch, upto):
            self._clear()
            self._do("recorrect", {"slices": [slice_]})
            self._rebuild(upto)

    def _review_from(self, since: int) -> int:
        """Imported requests may be older than the review reaches back: then it starts with them."""
        return min(since, self._oldest_new) if self._oldest_new is not None else since

    def _rebuild(self, upto: int) -> None:
        shares = {"shares": list(self._shares), "of": SHARES}
        self._do("batch_requests", shares)
        self._do("batch_spans", shares)
        self._do("attempts", {})
        merge = {"rootless_before": int((time.time() - self._grace_s) * 1e9), "upto": upto}
        self._do("merged", {**merge, "late_after_s": self._late_after_s})
        self._do("timelines", {"decided": sorted(key.hex() for key in self._decided)})
        self.names.mark()
        self._do("requests", {})
        self._do("transfers", {"upto": upto})

    def _forget_cut_short(self, after: int) -> None:
        """Take back what a step that did not finish read, or its spans would count as sent twice."""
        left = self._store.query(
            "SELECT count() FROM span_facts WHERE ingest_sequence > {after:UInt64}", {"after": after}
        )
        if left[0][0]:
            self._store.command(
                "DELETE FROM span_facts WHERE ingest_sequence > {after:UInt64}", {"after": after}
            )

    def _clear(self) -> None:
        self._decided = set()
        self._scratch.clear()

    def _do(self, name: str, params: Mapping[str, object]) -> None:
        self._scratch.command(read_sql(__file__, f"sql/{name}"), params)

    def _name_requests(self, upto: int) -> Decisions | None:
        """Name the step's requests; what had to be decided, None when nothing had."""
        conflicts = self._scratch.rows(read_sql(__file__, "sql/conflicts"))
        undecided = {bytes(row[0]) for row in self._scratch.query(read_sql(__file__, "sql/undecided_traces"))}
        undecided.update(bytes(trace) for row in conflicts for trace in row["traces"])
        undecided |= self._recall(undecided, conflicts)
        params = {"upto": upto, "undecided": [trace.hex() for trace in sorted(undecided)]}
        self._do("identity_traces", params)
        self._do("identity_ids", params)
        if not undecided:
            return None
        decisions = self._decide(undecided, conflicts)
        self._record(decisions, upto)
        return decisions

    def _recall(self, undecided: set[bytes], conflicts: Sequence[dict[str, object]]) -> set[bytes]:
        """Put the traces on record of the requests in question beside the step's own, to decide on all."""
        recalled: set[bytes] = set()
        asked: dict[bytes, datetime] = {}
        asking = {bytes(row["known_key"]): row["known_first_bucket"] for row in conflicts}  # type: ignore[call-overload]
        asking.pop(bytes(16), None)
        while True:
            for row in self._scratch.rows("SELECT * FROM {scratch:Identifier}.batch_traces WHERE known"):
                if row["trace_id"] in undecided or row["trace_id"] in recalled:
                    asking[row["known_key"]] = row["known_first_bucket"]
            if asking.keys() <= asked.keys():
                return recalled
            asked |= asking
            near = {
                _seconds(bucket) // 600 * 600 + shift for bucket in asked.values() for shift in (-600, 0, 600)
            }
            self._do(
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
        names = {
            row["id"]: Known(row["known_key"], _seconds(row["known_first_bucket"]))
            for row in conflicts
            if any(row["known_key"])
        }
        spans = [
            Span(
                row["trace_id"], row["span_id"], row["parent_id"], row["resource_id"], row["start_ns"],
                row["end_ns"], bool(row["root"]), tuple(row["ids"]),
            )
            for row in self._store.rows(
                read_sql(__file__, "sql/undecided_spans"),
                {"traces": [trace.hex() for trace in sorted(undecided)], "minutes": sorted(minutes)},
            )
        ]  # fmt: skip
        rooted = self._rooted({*traces.values(), *names.values()})
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
            rows.append([bucket, 0, trace, key, _time(first_bucket), root, trace, minutes, rule, upto])
        for name, (key, first_bucket, trace) in decisions.names.items():
            bucket = _ten_minutes(batch[trace]["start_ns"])
            rows.append(
                [
                    bucket,
                    1,
                    _name_hash(self._store, name),
                    key,
                    _time(first_bucket),
                    no_root,
                    trace,
                    [],
                    "request_id",
                    upto,
                ]
            )
        for key, trace, first_bucket in decisions.further:
            bucket = _ten_minutes(first_bucket * 1_000_000_000)
            # where the trace's own name is kept: far off, when its clock is
            at = [_bucket(batch[trace])] if trace in batch else []
            rows.append([bucket, 2, key, key, _time(first_bucket), no_root, trace, at, "", upto])
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


def _name_hash(store: Store, name: str) -> bytes:
    return bytes(
        store.query("SELECT reinterpretAsFixedString(sipHash128({name:String}))", {"name": name})[0][0]
    )


def _bucket(row: dict[str, Any]) -> datetime:
    """The bucket in which a trace of the step is, or will be, named."""
    return row["known_bucket"] if row["known"] else _ten_minutes(row["start_ns"])


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _ten_minutes(ns: int) -> datetime:
    return datetime.fromtimestamp(ns // 600_000_000_000 * 600, UTC)


def _seconds(value: datetime) -> int:
    return int(value.replace(tzinfo=UTC).timestamp())
