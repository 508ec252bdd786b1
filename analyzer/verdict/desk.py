"""Answers questions about windows, and remembers the last few answers while nothing new was stored."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from analyzer.assemble.assembler import GRACE_S, LATE_AFTER_S
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.verdict.diagnosis import Diagnosis, diagnose
from analyzer.verdict.load import Columns
from collector.sql import read_sql

KEPT = 4
"""Answers remembered; one holds the columns of its window (about 600 bytes a request)."""
FRESH_S = 5.0
"""How old an answer may be where the newest spans do not matter (labels in lists), while new ones arrive."""
SETTLED_AFTER_S = LATE_AFTER_S + 1.0
"""What comes so long (seconds) after the others is late, by the convention's word."""
LATE_SPANS_COME_S = 300.0
"""How long after a window's end (seconds) what was acknowledged here and waits to be stored may well be its:
an answer is held to it. Of windows further back, what others send all the time is not waited for.
"""


@dataclass(frozen=True)
class Answer:
    """A diagnosis, and whether every stored span was taken into account in it."""

    diagnosis: Diagnosis
    settled: bool
    sequence: int
    judged: int
    made_at: float
    asked_at: float
    """Unix seconds: since when the question is asked without a settled answer."""


class Desk:
    """One per application; thread-safe. Two that ask the same at once share one computation."""

    def __init__(
        self,
        store: Columns,
        stored: Callable[[], int],
        assembled: Callable[[], int],
        stored_until: Callable[[], float],
        quiet_s: Callable[[], float],
        judged: Callable[[], int] = lambda: 0,
        behind_s: float = 0.0,
    ):
        """stored: newest ingest sequence that can be read; assembled: newest taken into requests;
        stored_until: everything acknowledged here before (Unix seconds) is stored, infinite while nothing
        waits; quiet_s: seconds since spans were stored; judged: changes when requests were judged again
        although nothing came; behind_s: how long what others acknowledged may be unknown here.
        """
        self._store = store
        self._stored = stored
        self._assembled = assembled
        self._stored_until = stored_until
        self._quiet_s = quiet_s
        self._judged = judged
        self._behind_s = behind_s
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
                answer = self._work_out(scope, objectives, self._asked_since(question))
                self._remember(question, answer)
            return answer

    def _asked_since(self, question: tuple[Scope, Objectives]) -> float:
        """Since when it is asked: somebody who asks again until the answer is settled asks one question."""
        with self._guard:
            before = self._answers.get(question)
        return time.time() if before is None or before.settled else before.asked_at

    def _work_out(self, scope: Scope, objectives: Objectives, asked_at: float) -> Answer:
        sequence, judged = self._assembled(), self._judged()
        settled = self._has_all(scope, asked_at) and self._has_taken(scope, sequence)
        found = diagnose(self._store, scope, objectives, time.time_ns())
        return Answer(found, settled, sequence, judged, time.monotonic(), asked_at)

    def _has_all(self, scope: Scope, asked_at: float) -> bool:
        """Whether what is not stored yet is late for the window: nothing came for a while, or what came for a
        while after its end is stored, and, of a window that ended lately, what came before the question.
        """
        if self._nothing_comes(SETTLED_AFTER_S):
            return True
        stored, ended = self._stored_until(), scope.to_ns / 1e9
        if stored < asked_at and ended > asked_at - LATE_SPANS_COME_S:
            return False
        return min(stored, time.time_ns() / 1e9 - self._behind_s) >= ended + SETTLED_AFTER_S

    def _nothing_comes(self, for_s: float) -> bool:
        """Whether nothing waits to be stored, here or at others, and nothing was for so many seconds."""
        return self._stored_until() == math.inf and self._quiet_s() >= for_s + self._behind_s

    def _has_taken(self, scope: Scope, sequence: int) -> bool:
        """Whether every stored span of the window is in its requests, and every request is shown."""
        params = {"from_ns": scope.from_ns, "to_ns": scope.to_ns}
        waits_since = {"waits_since": time.time_ns() - round(2 * GRACE_S * 1e9)}
        if self._found("waiting", params | waits_since):
            return False
        return sequence >= self._stored() or not self._found("untaken", params | {"taken": sequence})

    def _found(self, name: str, params: dict[str, int]) -> bool:
        return bool(self._store.rows(read_sql(__file__, f"sql/{name}"), params)[0]["found"])

    def _remembered(self, question: tuple[Scope, Objectives], at_most_old_s: float) -> Answer | None:
        with self._guard:
            answer = self._answers.get(question)
        if answer is None:
            return None
        # What was acknowledged and is not stored yet may change it, and so may time alone.
        current = (answer.sequence, answer.judged) == (self._stored(), self._judged())
        unchanged = answer.settled and current and self._nothing_comes(0.0)
        return answer if unchanged or time.monotonic() - answer.made_at <= at_most_old_s else None

    def _remember(self, question: tuple[Scope, Objectives], answer: Answer) -> None:
        with self._guard:
            self._answers[question] = answer
            self._answers.move_to_end(question)
            while len(self._answers) > KEPT:
                old, _ = self._answers.popitem(last=False)
                self._locks.pop(old, None)
