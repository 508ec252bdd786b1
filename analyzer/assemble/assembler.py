"""Rebuilds requests from newly stored spans, step by step on the ingest sequence.

A step is idempotent: cut short by a crash it is done again, and the higher version of a row wins. Nothing
here loops over spans; Python only decides identity where traces and requests are not one to one.
"""

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analyzer.assemble.clock_work import slices_to_correct
from analyzer.assemble.crew import SHARES
from analyzer.assemble.names import NameLimits, Names
from analyzer.assemble.naming import Naming
from analyzer.assemble.review_time import REVIEW_EVERY_S, ReviewTime
from analyzer.assemble.rules_table import write_rules
from analyzer.assemble.scratch import Scratch
from analyzer.assemble.span_reader import SpanReader
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
        review_every_s: float = REVIEW_EVERY_S,
    ):
        """roles: (RE2 pattern of a service name or instance, role) from the settings; they outrank the
        defaults.
        """
        self._store = store
        self._scratch = scratch or Scratch(store)
        self._spans = SpanReader(self._scratch, adapters)
        self._naming = Naming(store, self._scratch)
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
        self._judged = 0
        self._decided: set[bytes] = set()
        self._review_time = ReviewTime(review_every_s)
        self._write_rules()
        rows = store.query(read_sql(__file__, "sql/progress"))
        self._taken = int(rows[0][0]) if rows else 0
        self.names = Names(store, self._scratch, names or NameLimits())
        """The names that requests carry, held to their limits."""

    def leads(self) -> bool:
        """Whether this process does what has to be done once for a store."""
        return True

    def judged(self) -> int:
        """Changes when requests were judged again although nothing came."""
        return self._judged

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
            due = self._review_time.due()
            if upto <= after and not due:
                return False
            began = time.monotonic()
            if upto > after:
                self._assemble(after, upto)
                self._store.insert(
                    "assembly_progress", [[0, upto, upto]], ["id", "ingest_sequence", "version"]
                )
                self._taken = upto
            if due:
                self._review(busy=upto > after)
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

    def _assemble(self, after: int, upto: int) -> None:
        window = {"after": after, "upto": upto}
        self._clear()
        self._forget_cut_short(after)
        self._spans.read(after, upto)
        self._do("batch_traces", window)
        decisions = self._naming.name(upto)
        self._decided = {key for _, key in decisions.pairs} if decisions else set()
        self._rebuild(upto)
        self._look_back()
        self._correct_clocks(upto)

    def _look_back(self) -> None:
        """Remember how far back the step's requests reach: they are reviewed soon."""
        oldest = self._scratch.query(
            "SELECT toUInt32(min(first_bucket)), count() FROM {scratch:Identifier}.batch_requests"
        )[0]
        if oldest[1]:
            self._review_time.arrived(int(oldest[0]))

    def _write_rules(self) -> None:
        write_signal_rules(self._store, self._adapters)
        write_rules(self._store, self._scratch, self._adapters, self._roles)

    def _review(self, busy: bool = False) -> None:
        """Judge again what only time can tell: requests without a request span, and streams nobody
        reported the end of. busy: more arrives meanwhile, so that only what is recent is looked at.
        """
        began, now = time.monotonic(), time.time()
        since = {"since": self._review_time.since(now, busy)}
        self._clear()
        self._scratch.command("TRUNCATE TABLE {scratch:Identifier}.worker_life")
        self._do("worker_life", since)
        self._do("unfinished", since)
        self._do("rootless", {**since, **self._waited(now)})
        if self._scratch.query("SELECT count() FROM {scratch:Identifier}.batch_traces")[0][0]:
            self._rebuild(self._taken)
            self._judged += 1
        self._review_time.done(began)

    def _correct_clocks(self, upto: int) -> None:
        """Assemble again what stands on clocks that turn out to differ; once, as offsets then agree."""
        for slice_ in slices_to_correct(self._store, self._scratch, upto):
            self._clear()
            self._do("recorrect", {"slices": [slice_]})
            self._rebuild(upto)

    def _waited(self, now: float) -> dict[str, int]:
        """Until when what came last is no longer waited for (Unix ns): a request span, and a read of KV."""
        return {
            "rootless_before": int((now - self._grace_s) * 1e9),
            "unread_before": int((now - self._late_after_s) * 1e9),
        }

    def _rebuild(self, upto: int) -> None:
        shares = {"shares": list(self._shares), "of": SHARES}
        self._do("batch_requests", shares)
        self._do("batch_spans", shares)
        self._do("attempts", {})
        waited = self._waited(time.time())
        self._do("merged", {**waited, "upto": upto, "late_after_s": self._late_after_s})
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
