"""From the journal into the store, in batches, for as long as it takes."""

import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from collector.errors import BadBody, CollectorError, StoreError
from collector.journal import Journal, Record, Taken
from collector.receive.commit import Sink, commit
from collector.receive.export import Kind
from collector.receive.metrics import ReceiveMetrics
from collector.receive.refused_bodies import RefusedBodies

_log = logging.getLogger(__name__)

_KNOWN = frozenset(Kind)
_FIRST_BATCH_BYTES = 1 << 20
_FIRST_RETRY = 0.25
_LAST_RETRY = 5.0
_BLOCKING_TRIES = 5
"""After so many failures of one body alone it is asked whether the store fails, or only this body."""

_SCARCITY = (
    "space",
    "SPACE",
    "memory",
    "MEMORY",
    "TIMEOUT",
    "timed out",
    "NETWORK",
    "SOCKET",
    "CANNOT_WRITE",
)
"""Words of errors that any body may meet: such a body only waits."""


@dataclass(frozen=True)
class StoreState:
    """How storing goes: since when (monotonic seconds) and why it fails, or None and empty."""

    failing_since: float | None = None
    why: str = ""


@dataclass
class _Batch:
    taken: Taken
    parts: deque[tuple[Kind, list[bytes]]]


class Inserter:
    """Stores what the journal holds, from a thread of its own; retries until the store takes it."""

    def __init__(
        self,
        journal: Journal,
        sink: Sink,
        metrics: ReceiveMetrics,
        batch_bytes: int = 32 << 20,
        linger: float = 0.5,
    ):
        """linger: seconds a lone record waits for others."""
        self._journal = journal
        self._sink = sink
        self._metrics = metrics
        # Asked for when scraped: what was acknowledged after the last insert counts too.
        metrics.journal_backlog.set_function(lambda: journal.backlog_bytes)
        self._batch_bytes = batch_bytes
        self._linger = linger
        self._refused = RefusedBodies(journal.directory)
        self._stop = threading.Event()
        self._hurry = threading.Event()
        self._pause = _FIRST_RETRY
        self._tries = 0
        # Small at first: a process that does not live long, or not through a large insert, still gets on.
        self._size = min(batch_bytes, _FIRST_BATCH_BYTES)
        self._batch: _Batch | None = None
        self._state = StoreState()
        self._thread = threading.Thread(target=self._run, name="pdscope-inserter", daemon=True)

    @property
    def state(self) -> StoreState:
        """How storing goes now."""
        return self._state

    def start(self) -> None:
        """Begin; what an earlier process left is stored first."""
        self._thread.start()

    def stop(self, grace: float) -> None:
        """Store what is there for up to `grace` seconds, then end; the rest waits for the next start."""
        if not self._thread.is_alive():
            return
        self._hurry.set()
        deadline = time.monotonic() + grace
        while self._journal.backlog_bytes and time.monotonic() < deadline and not self._state.why:
            time.sleep(0.02)
        self._stop.set()
        self._thread.join()

    def drain(self) -> None:
        """Store everything now, on the caller's thread. Raises StoreError when the store takes no more."""
        while self._store_some():
            if self._state.why:
                raise StoreError(self._state.why)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                if not self._store_some():
                    self._journal.tidy()
                    self._journal.wait(1.0)
                if self._state.why:
                    self._stop.wait(self._pause)
                elif self._journal.backlog_bytes < self._batch_bytes and not self._hurry.is_set():
                    self._hurry.wait(self._linger)
            except Exception as error:
                _log.exception("storing from the journal failed; it will be tried again")
                since = self._state.failing_since or time.monotonic()
                self._state = StoreState(since, f"{type(error).__name__}: {error}")
                self._stop.wait(_LAST_RETRY)

    def _store_some(self) -> bool:
        """Store the next batch, or what is left of the one begun; False when there is none."""
        if self._batch is None:
            taken = self._journal.take(self._size)
            if taken is None:
                return False
            self._batch = _Batch(taken, deque(self._parts(taken.records)))
        began = time.monotonic()
        while self._batch.parts:
            kind, bodies = self._batch.parts[0]
            left = self._store(kind, bodies)
            # gone only now: what raises on the way is tried again
            self._batch.parts.popleft()
            if left:
                self._batch.parts.extendleft(reversed([(kind, half) for half in self._smaller(left)]))
                return True
        self._metrics.insert_seconds.observe(time.monotonic() - began)
        self._journal.stored(self._batch.taken)
        self._size = min(self._batch_bytes, 2 * self._size)
        self._batch = None
        self._show()
        return True

    def _store(self, kind: Kind, bodies: list[bytes]) -> list[bytes]:
        """Store bodies of one kind; returns those that the store did not take now."""
        results = commit(self._sink, bodies, kind == Kind.METRICS)
        left: list[bytes] = []
        why = ""
        for body, result in zip(bodies, results, strict=True):
            if isinstance(result, BadBody):
                self._set_aside(kind, body, str(result))
            elif isinstance(result, CollectorError):
                left.append(body)
                why = str(result)
            else:
                for reason, count in result.items():
                    self._metrics.refused_spans.labels(reason).inc(count)
        if left:
            left = self._failed(kind, left, why)
        if not left:
            self._state, self._pause, self._tries = StoreState(), _FIRST_RETRY, 0
        return left

    def _failed(self, kind: Kind, left: list[bytes], why: str) -> list[bytes]:
        if not self._state.why:
            _log.error("the store takes no exports: %s; they wait in the journal", why)
        self._tries += 1
        self._state = StoreState(self._state.failing_since or time.monotonic(), why)
        self._pause = min(_LAST_RETRY, 2 * self._pause)
        if len(left) == 1 and self._tries >= _BLOCKING_TRIES and self._is_at_fault(why):
            self._set_aside(kind, left[0], why)
            return []
        return left

    def _smaller(self, left: list[bytes]) -> list[list[bytes]]:
        """What failed again is tried in halves: one body may be more than the store can take."""
        if len(left) == 1 or self._tries < 2:
            return [left]
        return [left[: len(left) // 2], left[len(left) // 2 :]]

    def _is_at_fault(self, why: str) -> bool:
        """Whether the store would take other exports than the one it keeps failing on."""
        if any(word in why for word in _SCARCITY):
            return False
        return not isinstance(commit(self._sink, [b""])[0], CollectorError)

    def _set_aside(self, kind: int, body: bytes, why: str) -> None:
        self._metrics.refused_exports.labels("journal", "store_cannot_read").inc()
        place = self._refused.keep(kind, body)
        _log.error("an acknowledged export cannot be stored: %s; kept in %s", why, place)

    def _parts(self, records: Sequence[Record]) -> Iterator[tuple[Kind, list[bytes]]]:
        for kind in Kind:
            if bodies := [bytes(record.body) for record in records if record.kind == kind]:
                yield kind, bodies
        for record in records:
            if record.kind not in _KNOWN:
                self._set_aside(record.kind, bytes(record.body), f"its kind {record.kind} is not known")

    def _show(self) -> None:
        self._metrics.journal_bytes.set(self._journal.held_bytes)
        self._metrics.journal_damages.set(len(self._journal.damages))
