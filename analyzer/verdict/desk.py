"""Answers questions about windows, and remembers the last few answers while nothing new was stored."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from analyzer.assemble.assembler import LATE_AFTER_S
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.verdict.diagnosis import Diagnosis, diagnose
from analyzer.verdict.load import Columns

KEPT = 4
"""Answers remembered; one holds the columns of its window (about 600 bytes a request)."""
FRESH_S = 5.0
"""How old an answer may be where the newest spans do not matter (labels in lists), while new ones arrive."""
SETTLED_AFTER_S = LATE_AFTER_S + 1.0
"""Nothing may have come for so long: what comes later is late, by the convention's word."""


@dataclass(frozen=True)
class Answer:
    """A diagnosis, and whether every stored span was taken into account in it."""

    diagnosis: Diagnosis
    settled: bool
    sequence: int
    made_at: float


class Desk:
    """One per application; thread-safe. Two that ask the same at once share one computation."""

    def __init__(
        self,
        store: Columns,
        stored: Callable[[], int],
        assembled: Callable[[], int],
        quiet_s: Callable[[], float],
    ):
        """stored: newest ingest sequence that can be read; assembled: newest taken into requests; quiet_s:
        seconds since something was stored.
        """
        self._store = store
        self._stored = stored
        self._assembled = assembled
        self._quiet_s = quiet_s
        self._answers: OrderedDict[tuple[Scope, Objectives], Answer] = OrderedDict()
        self._locks: dict[tuple[Scope, Objectives], threading.Lock] = {}
        self._guard = threading.Lock()

    def ask(self, scope: Scope, objectives: Objectives, at_most_old_s: float = 0.0) -> Answer:
        """Diagnose a window; an earlier answer counts until something is stored, or for `at_most_old_s`."""
        question = (scope, objectives)
        with self._guard:
            lock = self._locks.setdefault(question, threading.Lock())
        with lock:
            answer = self._remembered(question, at_most_old_s)
            if answer is None:
                answer = self._work_out(scope, objectives)
                self._remember(question, answer)
            return answer

    def _work_out(self, scope: Scope, objectives: Objectives) -> Answer:
        sequence = self._assembled()
        settled = sequence >= self._stored() and self._quiet_s() >= SETTLED_AFTER_S
        found = diagnose(self._store, scope, objectives, time.time_ns())
        return Answer(found, settled and self._stored() == sequence, sequence, time.monotonic())

    def _remembered(self, question: tuple[Scope, Objectives], at_most_old_s: float) -> Answer | None:
        with self._guard:
            answer = self._answers.get(question)
        if answer is None:
            return None
        unchanged = answer.settled and answer.sequence == self._stored()
        return answer if unchanged or time.monotonic() - answer.made_at <= at_most_old_s else None

    def _remember(self, question: tuple[Scope, Objectives], answer: Answer) -> None:
        with self._guard:
            self._answers[question] = answer
            self._answers.move_to_end(question)
            while len(self._answers) > KEPT:
                old, _ = self._answers.popitem(last=False)
                self._locks.pop(old, None)
