"""Judging answers: what was said of each scenario against its truth, and the figures over all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .scenario import DECOY, HEALTHY, ONE, TWO, Scenario

ABSTAINED = "insufficient_evidence"
NONE = "none"
SURE = 0.8


@dataclass(frozen=True)
class Judged:
    """One answer beside the truth."""

    index: int
    kind: str
    faults: str
    mode: str
    skewed: bool
    truth: str
    acceptable: tuple[str, ...]
    said: str
    confidence: float | None
    missed: int
    said_missed: int | None
    would_have_met: int | None  # in truth, without the faults of the cause that was said
    said_would_have_met: int | None
    settled: bool
    requests_right: int | None = None
    requests_judged: int | None = None
    counterfactuals_right: int = 0
    counterfactuals_judged: int = 0
    removed: str = ""

    @property
    def right(self) -> bool:
        """The cause said is the window's."""
        return self.said in self.acceptable

    @property
    def abstained(self) -> bool:
        """It said that it could not tell."""
        return self.said == ABSTAINED

    @property
    def wrong(self) -> bool:
        """It blamed, or cleared, without being right."""
        return not self.right and not self.abstained

    @property
    def sure(self) -> bool:
        """It said so with confidence above 0.8."""
        return self.confidence is not None and self.confidence > SURE


def judge(scenario: Scenario, answer: dict[str, Any], **more: Any) -> Judged:
    """Compare a GET /diagnosis document with a scenario's truth."""
    truth = scenario.truth
    said = str(answer.get("dominant_cause"))
    cause: dict[str, Any] = next((c for c in answer.get("causes") or [] if c.get("cause") == said), {})
    blamed = said in truth.shares and said != NONE
    return Judged(
        index=scenario.index,
        kind=scenario.kind,
        faults=scenario.names,
        mode=scenario.run.spec.mode.value,
        skewed=bool(scenario.clocks),
        truth=truth.dominant,
        acceptable=tuple(sorted(truth.acceptable)),
        said=said,
        confidence=answer.get("confidence"),
        missed=len(truth.missed),
        said_missed=(answer.get("requests") or {}).get("missed"),
        would_have_met=truth.would_have_met(said) if blamed else None,
        said_would_have_met=cause.get("would_have_met_without_it"),
        settled=answer.get("settled") is True,
        **more,
    )


@dataclass(frozen=True)
class Report:
    """Figures over judged scenarios; shares are None where there is nothing to take a share of."""

    scenarios: int
    accuracy: dict[str, float | None]
    wrong_and_sure: float | None
    right_and_sure: float | None
    abstained: float | None
    healthy_blamed: float | None
    counterfactual_agreement: float | None
    request_cause_accuracy: float | None
    request_counterfactual_agreement: float | None
    unsettled: int
    confusion: dict[str, dict[str, int]]
    calibration: list[dict[str, float | int]]
    ablation: dict[str, dict[str, int]] = field(default_factory=dict)
    ablation_wrong: float | None = None


def report(judged: list[Judged], ablated: list[Judged]) -> Report:
    """The figures of the proof."""
    faulty = [j for j in judged if j.kind in (ONE, TWO)]
    right = [j for j in faulty if j.right]
    confusion: dict[str, Counter[str]] = defaultdict(Counter)
    for j in judged:
        confusion[j.truth][j.truth if j.right else j.said] += 1
    by_signal: dict[str, Counter[str]] = defaultdict(Counter)
    for j in ablated:
        by_signal[j.removed]["right" if j.right else "abstained" if j.abstained else "wrong"] += 1
    return Report(
        scenarios=len(judged),
        accuracy={kind: _share(judged, kind) for kind in (HEALTHY, DECOY, ONE, TWO)},
        wrong_and_sure=_mean(j.wrong and j.sure for j in judged),
        right_and_sure=_mean(j.sure for j in right),
        abstained=_mean(j.abstained for j in faulty),
        healthy_blamed=_mean(j.wrong for j in judged if j.truth == NONE),
        counterfactual_agreement=_agreement(judged),
        request_cause_accuracy=_ratio(
            (j.requests_right or 0, j.requests_judged or 0) for j in faulty if j.requests_judged
        ),
        request_counterfactual_agreement=_ratio(
            (j.counterfactuals_right, j.counterfactuals_judged) for j in faulty
        ),
        unsettled=sum(not j.settled for j in judged),
        confusion={truth: dict(said) for truth, said in sorted(confusion.items())},
        calibration=_calibration(judged),
        ablation={signal: dict(counts) for signal, counts in sorted(by_signal.items())},
        ablation_wrong=_mean(j.wrong for j in ablated),
    )


def _mean(flags: Iterable[bool]) -> float | None:
    values = list(flags)
    return sum(values) / len(values) if values else None


def _ratio(parts: Iterable[tuple[int, int]]) -> float | None:
    pairs = list(parts)
    total = sum(n for _, n in pairs)
    return sum(k for k, _ in pairs) / total if total else None


def _share(judged: list[Judged], kind: str) -> float | None:
    return _mean(j.right for j in judged if j.kind == kind)


def _agreement(judged: list[Judged]) -> float | None:
    """1 − |said − true| ÷ missed, over the requests of windows whose cause is a planted one."""
    pairs = [
        (max(0, j.missed - abs(round(j.said_would_have_met) - j.would_have_met)), j.missed)
        for j in judged
        if j.would_have_met is not None and j.said_would_have_met is not None and j.missed
    ]
    return _ratio(pairs)


def _calibration(judged: list[Judged]) -> list[dict[str, float | int]]:
    """Of answers that were not abstentions, by confidence: how many, mean confidence, share right."""
    bins: dict[int, list[Judged]] = defaultdict(list)
    for j in judged:
        if j.confidence is not None and not j.abstained:
            bins[min(9, int(j.confidence * 10))].append(j)
    return [
        {
            "from": lower / 10,
            "answers": len(answers),
            "confidence": round(sum(j.confidence or 0.0 for j in answers) / len(answers), 3),
            "right": round(sum(j.right for j in answers) / len(answers), 3),
        }
        for lower, answers in sorted(bins.items())
    ]


@dataclass(frozen=True)
class Bar:
    """A threshold of the proof."""

    name: str
    value: float | None
    at_least: bool
    limit: float

    @property
    def passed(self) -> bool:
        """Whether it holds; what could not be measured does not."""
        if self.value is None:
            return False
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def bars(result: Report, ablated: bool) -> list[Bar]:
    """The thresholds the product promises."""
    found = [
        Bar("dominant cause right, one fault", result.accuracy[ONE], True, 0.95),
        Bar("dominant cause right, two faults", result.accuracy[TWO], True, 0.90),
        Bar("wrong with confidence above 0.8", result.wrong_and_sure, False, 0.01),
        Bar("right answers above 0.8", result.right_and_sure, True, 0.80),
        Bar("healthy blamed", result.healthy_blamed, False, 0.01),
        Bar("counterfactual agreement", result.counterfactual_agreement, True, 0.90),
    ]
    if ablated:
        found.append(Bar("wrong with one signal taken away", result.ablation_wrong, False, 0.02))
    return found
