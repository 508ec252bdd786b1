"""Assembly by several analyzers on one server.

The one that names requests reads new spans by the rules and decides which request each belongs to; then every
analyzer rebuilds the requests of its shares, a hash of the request's key telling whose they are. How far
each got is in `assembly_progress`: id 0 for naming, 1 and on for the shares. A share that changes hands is
taken up where its last holder had noted to be.
"""

import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence

from analyzer.assemble.assembler import GRACE_S, LATE_AFTER_S, STEP_SEQUENCES, Assembler, Progress
from analyzer.assemble.crew import SHARES, Crew
from analyzer.assemble.names import NameLimits
from analyzer.assemble.review_time import REVIEW_EVERY_S
from analyzer.assemble.scratch import Scratch
from collector.engines import ADAPTERS
from collector.engines.rules import Adapter, Role
from collector.errors import StoreError
from collector.sql import read_sql
from collector.store import Store

log = logging.getLogger(__name__)

_ASKED_EVERY_S = 0.5
_CORRECTED_AGAIN_S = 3600
"""How far back (seconds) clock offsets are looked at again when shares change hands."""
LEFT_S = 600
"""After so many seconds of silence the tables of a killed analyzer are removed; looked at as often."""


class SharedAssembler(Assembler):
    """An assembler that does its part of the work. start() joins the others."""

    def __init__(
        self,
        store: Store,
        crew: Crew,
        adapters: Sequence[Adapter] = ADAPTERS,
        roles: Iterable[tuple[str, Role]] = (),
        grace_s: float = GRACE_S,
        late_after_s: int = LATE_AFTER_S,
        names: NameLimits | None = None,
    ):
        self._crew = crew
        self._offsets: dict[int, int] = {}
        self._compared = 0.0
        self._swept = -math.inf
        self._asked: tuple[float, int] = (0.0, 0)
        super().__init__(store, adapters, roles, grace_s, late_after_s, names, Scratch(store, crew.name))
        self._offsets = self._offsets_now()

    def start(self, interval_s: float = 0.5) -> None:
        """Join the others and work on a thread."""
        self._crew.start()
        super().start(interval_s)

    def stop(self) -> None:
        """Finish the step under way, leave, and remove what only this analyzer used."""
        super().stop()
        self._crew.stop()
        self._scratch.drop()

    def leads(self) -> bool:
        """Whether this analyzer does what one of them has to do for all."""
        return self._crew.duty().names

    def judged(self) -> int:
        """Others judge, too, and do not say when: as often as each does."""
        return int(time.monotonic() / REVIEW_EVERY_S)

    def progress(self) -> Progress:
        """How far all analyzers together are, asked of the store at most twice a second."""
        at, taken = self._asked
        if time.monotonic() - at > _ASKED_EVERY_S:
            reached = self._reached()
            # a share that nobody noted yet is where naming was when one analyzer alone rebuilt requests
            taken = min(reached.get(1 + share, reached.get(0, 0)) for share in range(SHARES))
            self._asked = (time.monotonic(), taken)
        return Progress(taken, self._store.last_sequence, self._last_step_s)

    def step(self) -> bool:
        """Do what is this analyzer's of the next inserts; False when there was nothing."""
        with self._step_lock:
            duty = self._crew.duty()
            began = time.monotonic()
            busy = self._name_next() if duty.names else False
            if duty.shares:
                self._take_over(duty.shares)
                busy = self._rebuild_next() or busy
                if not busy:
                    self._correct_when_idle()
                if self._review_time.due():
                    more_came = busy
                    self._whole(lambda: self._review(more_came))
            if duty.names and not busy:
                self._sweep()
            if busy:
                self._last_step_s = time.monotonic() - began
            return busy

    def _name_next(self) -> bool:
        reached = self._reached()
        after, stored = reached.get(0, 0), self._store.last_sequence
        missing = [share for share in range(SHARES) if 1 + share not in reached]
        if missing:
            self._note([1 + share for share in missing], after)
        upto = min(stored, after + STEP_SEQUENCES)
        if upto <= after:
            return False
        self._whole(lambda: self._name(after, upto))
        self._note([0], upto)
        return True

    def _name(self, after: int, upto: int) -> None:
        window = {"after": after, "upto": upto}
        self._clear()
        self._still_names()
        self._forget_cut_short(after)
        self._still_names()
        self._spans.read(after, upto)
        self._do("batch_traces", window)
        self._still_names()
        decisions = self._naming.name(upto)
        self._still_names()
        if decisions:
            pairs = sorted(decisions.pairs)
            traces, keys = [trace.hex() for trace, _ in pairs], [key.hex() for _, key in pairs]
            self._do("decided", {"upto": upto, "traces": traces, "keys": keys})

    def _still_names(self) -> None:
        """Raise StoreError when this process stood still so long that another may name requests by now.

        What a span says is stored once, and a step takes back what one before it left: two at it would lose
        spans or count them twice.
        """
        if not self.leads():
            raise StoreError("this analyzer was not heard of for a while; another may name requests by now")

    def _rebuild_next(self) -> bool:
        reached = self._reached()
        mine = [1 + share for share in self._shares if 1 + share in reached]
        if not mine:
            return False
        after = min(reached[part] for part in mine)
        # Others may have come further with these shares: what is judged again must be newer than theirs.
        self._taken = max(self._taken, after)
        upto = min(reached.get(0, 0), after + STEP_SEQUENCES)
        if upto <= after:
            return False
        self._whole(lambda: self._rebuild_window(after, upto))
        self._note([part for part in mine if reached[part] < upto], upto)
        self._taken = upto
        return True

    def _rebuild_window(self, after: int, upto: int) -> None:
        window = {"after": after, "upto": upto}
        self._clear()
        self._do("batch_traces", window)
        self._do("decided_again", window)
        decided = self._store.query(read_sql(__file__, "sql/decided_keys"), window)
        self._decided = {bytes(row[0]) for row in decided}
        self._rebuild(upto)
        self._look_back()
        self._correct_clocks(upto)
        self._correct_as_others(upto)

    def _correct_as_others(self, upto: int) -> None:
        """Rebuild this analyzer's requests in slices whose clock offsets someone changed."""
        now = self._offsets_now()
        for slice_, offsets in now.items():
            if self._offsets.get(slice_) != offsets:
                self._clear()
                self._do("recorrect", {"slices": [slice_]})
                self._rebuild(upto)
                self._offsets[slice_] = offsets
        self._offsets = now

    def _correct_when_idle(self) -> None:
        """Others may change offsets after this analyzer's last step: do not wait for the next spans."""
        if time.monotonic() - self._compared > REVIEW_EVERY_S:
            self._compared = time.monotonic()
            if self._offsets_now() != self._offsets:
                self._whole(lambda: self._correct_as_others(self._taken))

    def _sweep(self) -> None:
        """Remove what analyzers that were killed left in the server's memory."""
        if time.monotonic() - self._swept > LEFT_S:
            self._swept = time.monotonic()
            if left := self._scratch.drop_left(LEFT_S):
                log.info("removed the scratch tables of analyzers that are gone: %s", ", ".join(left))

    def _offsets_now(self) -> dict[int, int]:
        return {int(row[0]): int(row[1]) for row in self._store.query(read_sql(__file__, "sql/clock_hashes"))}

    def _take_over(self, shares: tuple[int, ...]) -> None:
        if set(shares) - set(self._shares):
            since = time.time() - _CORRECTED_AGAIN_S
            self._offsets = {slice_: hash_ for slice_, hash_ in self._offsets.items() if slice_ < since}
            self._review_time.arrived(int(since))
        self._shares = shares

    def _whole(self, work: Callable[[], None]) -> None:
        """Do a step, and notice when the server lost what it held in memory meanwhile. Raises StoreError."""
        if not self._scratch.holds_rules():
            self._scratch.prepare()
        # first: rules that a restart wipes out after they were found there must be missed
        self._scratch.set_mark()
        if not self._scratch.holds_rules():
            self._write_rules()
        work()
        if self._scratch.lost():
            raise StoreError("the server restarted during a step; the step will be done again")

    def _reached(self) -> dict[int, int]:
        rows = self._store.query(read_sql(__file__, "sql/crew_reached"))
        return {int(part): int(sequence) for part, sequence in rows}

    def _note(self, parts: Sequence[int], upto: int) -> None:
        rows = [[part, upto, upto] for part in parts]
        self._store.insert("assembly_progress", rows, ["id", "ingest_sequence", "version"])
