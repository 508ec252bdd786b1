"""The on-call answer for a window: what requests missed for, how sure that is, and what to do."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.verdict.attribution import Attribution
from analyzer.verdict.cause_answers import CauseAnswer, answers
from analyzer.verdict.deployments import attributed_apart
from analyzer.verdict.findings import Finding, find
from analyzer.verdict.load import Columns, Loaded, load
from analyzer.verdict.missing import Missing, missing_telemetry
from analyzer.verdict.quantities import quantities
from analyzer.verdict.situation import Situation, prepare
from analyzer.verdict.summary import summarize
from analyzer.verdict.tables import Account, Outcome
from analyzer.verdict.vocabulary import Cause

T = TypeVar("T")


@dataclass(frozen=True)
class Counts:
    """What became of the window's requests."""

    total: int = 0
    evaluated: int = 0
    met: int = 0
    missed: int = 0
    rejected: int = 0
    errored: int = 0
    cancelled: int = 0
    invalid: int = 0
    incomplete: int = 0
    in_flight: int | None = None
    oldest_in_flight_s: float | None = None


def _once(work: Callable[["Diagnosis"], T]) -> Callable[["Diagnosis"], T]:
    """A part that is worked out once, whoever asks for it meanwhile; other diagnoses do not wait for it.

    nan is "not known" throughout: what is computed from it is not known either, without a warning.
    """

    @wraps(work)
    def part(found: "Diagnosis") -> T:
        with found._lock:
            if work not in found._parts:
                with np.errstate(divide="ignore", invalid="ignore"):
                    found._parts[work] = work(found)
            known: T = found._parts[work]
            return known

    return part


@dataclass(frozen=True)
class Diagnosis:
    """Everything known about a window. Each part is worked out when it is first asked for: hand-offs and
    orphans need no causes.
    """

    situation: Situation
    objectives: Objectives
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False, compare=False)
    _parts: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    @_once
    def attribution(self) -> Attribution:
        """Shares of every missed request."""
        return attributed_apart(self.situation)

    @property
    @_once
    def counts(self) -> Counts:
        """What became of the requests."""
        return _counts(self.situation)

    @property
    @_once
    def _causes(self) -> list[CauseAnswer]:
        return answers(self.situation, self.attribution)

    @property
    @_once
    def dominant(self) -> Cause:
        """The cause to act on first; `none` where nothing is to be done."""
        return _dominant(self.situation, self._causes, self.objectives, self.counts)

    @property
    def causes(self) -> list[CauseAnswer]:
        """By share, largest first; none where nothing is to be done."""
        return [] if self.dominant is Cause.NONE else self._causes

    @property
    def confidence(self) -> float | None:
        """Of the dominant cause."""
        return _confidence(self.dominant, self.causes)

    @property
    @_once
    def summary(self) -> str:
        """The answer in a few sentences."""
        return summarize(self.situation, self.counts, self.dominant, self.causes)

    @property
    @_once
    def findings(self) -> list[Finding]:
        """What else is wrong, whether or not a request missed for it."""
        return find(self.situation, self.attribution)

    @property
    @_once
    def missing(self) -> list[Missing]:
        """Telemetry that is not there, and what it would tell."""
        return missing_telemetry(self.situation, self.attribution)

    @property
    @_once
    def quantities(self) -> Mapping[str, Any]:
        """Numbers of the window by name."""
        return quantities(self.situation)


def diagnose(store: Columns, scope: Scope, objectives: Objectives, now_ns: int) -> Diagnosis:
    """Diagnose a window. now_ns: the time of the question; nothing is taken to have happened later."""
    return diagnose_loaded(load(store, scope, objectives), objectives, now_ns)


def diagnose_loaded(loaded: Loaded, objectives: Objectives, now_ns: int) -> Diagnosis:
    """Diagnose what was read of a window; the same columns and objectives give the same answer."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return Diagnosis(prepare(loaded, min(_newest(loaded), (now_ns - loaded.origin_ns) / 1e9)), objectives)


def _newest(loaded: Loaded) -> float:
    """Newest instant telemetry covers, seconds from origin: what is held then, is held at least so long."""
    t, r = loaded.transfers, loaded.requests
    instants = [r.start, r.end, t.at, t.moved, t.imported, t.freed, t.given_back]
    known = [float(values[np.isfinite(values)].max()) for values in instants if np.isfinite(values).any()]
    newest = max([*known, loaded.readings.latest()])
    return newest if np.isfinite(newest) else 0.0


def _counts(s: Situation) -> Counts:
    r = s.requests
    account, outcome = r.account[r.inside], r.outcome[r.inside]
    answered = r.answered[r.inside]
    evaluated = np.isin(account, (Account.MET, Account.MISSED))
    in_flight, oldest = _in_flight(s)
    return Counts(
        total=int(r.inside.sum()),
        evaluated=int(evaluated.sum()),
        met=int((account == Account.MET).sum()),
        missed=int((account == Account.MISSED).sum()),
        rejected=int((outcome == Outcome.REJECTED).sum()),
        errored=int((evaluated & ~answered & (outcome != Outcome.REJECTED)).sum()),
        cancelled=int((account == Account.CANCELLED).sum()),
        invalid=int((account == Account.INVALID).sum()),
        incomplete=int((account == Account.INCOMPLETE).sum()),
        in_flight=in_flight,
        oldest_in_flight_s=oldest,
    )


def _in_flight(s: Situation) -> tuple[int | None, float | None]:
    """Requests under way at the end of the window, and the age of the oldest, as the routers last said.

    They count everybody's: neither is known of one tenant, route or cohort.
    """
    scope, readings = s.loaded.scope, s.loaded.readings
    if scope.tenant or scope.route or scope.cohort:
        return None, None
    end = np.array([(s.loaded.scope.to_ns - s.loaded.origin_ns) / 1e9])
    now: dict[str, list[float]] = {"requests_in_flight": [], "oldest_request_age": []}
    for signal, found in now.items():
        for worker in readings.workers(signal):
            value = float(readings.read(signal, np.array([worker], np.uint64), end)[0])
            if np.isfinite(value):
                found.append(value)
    many, ages = now["requests_in_flight"], now["oldest_request_age"]
    return (round(sum(many)) if many else None), (max(ages) if ages else None)


def _dominant(s: Situation, causes: list[CauseAnswer], objectives: Objectives, counts: Counts) -> Cause:
    """The cause with the largest share; none when nothing missed or the target is met.

    A question that overrides the objective without a target asks about every miss.
    """
    if not causes:
        return Cause.NONE
    target = max(item.target if item.target_asked else 1.0 for item in objectives.items)
    if counts.evaluated and counts.met / counts.evaluated >= target:
        return Cause.NONE
    return causes[0].cause


def _confidence(dominant: Cause, causes: list[CauseAnswer]) -> float | None:
    if dominant is Cause.NONE:
        return 1.0 if not causes else 0.95
    return next((answer.confidence for answer in causes if answer.cause is dominant), None)
