"""Two sides judged by the same objectives, on the same mix of prompts, per accelerator-hour."""

from dataclasses import dataclass, replace

from analyzer.compare.contrast import METRICS, Contrast, Pair
from analyzer.compare.likeness import common_buckets, notes, refuse_unlike
from analyzer.compare.side import BUCKETS, Latencies, Side, read_side
from analyzer.compare.turns import Turns, hurts_later_turns, turns
from analyzer.slo.measured import Measured
from analyzer.slo.objectives import Objectives
from analyzer.slo.rows import Rows
from analyzer.slo.scope import Scope

ALL_TURNS = slice(None)


@dataclass(frozen=True)
class Bucket:
    """One prompt bucket; `weight` is its part of the common mix, 0 where only one side has it."""

    bucket: str
    weight: float
    evaluated: tuple[int, int]
    attainment: dict[str, Contrast]
    good_per_gpu_hour: Contrast
    """Its part of the common mix's good requests per accelerator-hour; the parts add up."""
    latencies: tuple[Latencies, Latencies]


@dataclass(frozen=True)
class Comparison:
    """The whole answer: figures of the common mix, by bucket, and by turn where conversations are named."""

    baseline: Side
    candidate: Side
    attainment: dict[str, Contrast]
    good_per_gpu_hour: Contrast
    buckets: list[Bucket]
    turns: list[Turns]
    accelerators: str
    """What was done about accelerators, in words."""
    notes: list[str]
    summary: str


def compare(
    store: Rows,
    scopes: tuple[Scope, Scope],
    objectives: Objectives,
    gpus: tuple[float | None, float | None] = (None, None),
    equal_accelerators: bool = False,
    seed: int = 0,
) -> Comparison:
    """Compare (baseline, candidate); gpus: their accelerators, where workers do not say.

    Raises Unlike naming the difference, StoreError.
    """
    baseline = read_side(store, scopes[0], objectives, gpus[0])
    candidate = read_side(store, scopes[1], objectives, gpus[1])
    if _shared(baseline, candidate):
        baseline, candidate = _not_theirs_alone(baseline, candidate), _not_theirs_alone(candidate, baseline)
    refuse_unlike(baseline, candidate, equal_accelerators)
    pair = Pair(baseline, candidate, ALL_TURNS, seed)
    attainment = {metric: pair.attainment(metric) for metric in METRICS}
    good = pair.good_per_hour(baseline.gpu_hours, candidate.gpu_hours)
    by_turn = turns(baseline, candidate, seed)
    return Comparison(
        baseline,
        candidate,
        attainment,
        good,
        _buckets(pair, baseline, candidate),
        by_turn,
        _accelerators(baseline.gpus, candidate.gpus),
        [*hurts_later_turns(by_turn), *_left_out(baseline, candidate), *notes(baseline, candidate)],
        _summary(attainment["joint"], good),
    )


def _buckets(pair: Pair, baseline: Side, candidate: Side) -> list[Bucket]:
    return [
        Bucket(
            name,
            float(pair.weights[number]),
            (int(pair.evaluated[0, number]), int(pair.evaluated[1, number])),
            {metric: pair.attainment_of(number, metric) for metric in METRICS},
            pair.good_per_hour(baseline.gpu_hours, candidate.gpu_hours, number),
            (baseline.latencies.get(name, Latencies()), candidate.latencies.get(name, Latencies())),
        )
        for number, name in enumerate(BUCKETS)
        if pair.evaluated[:, number].any()
    ]


def _shared(baseline: Side, candidate: Side) -> frozenset[str]:
    """Workers that served both sides at the same time."""
    apart = baseline.scope.to_ns <= candidate.scope.from_ns or candidate.scope.to_ns <= baseline.scope.from_ns
    return frozenset() if apart else baseline.workers & candidate.workers


def _not_theirs_alone(side: Side, other: Side) -> Side:
    """The side with its accelerators unknown, unless they were supplied."""
    if side.gpus.source == "supplied":
        return side
    count = len(_shared(side, other))
    return replace(
        side, gpus=Measured.unknown(f"{count} workers served both sides at the same time; give their shares")
    )


def _accelerators(ours: Measured, theirs: Measured) -> str:
    if ours.value is None or theirs.value is None:
        return "not known: attainments are as measured, and nothing is said per accelerator-hour"
    if ours.value == theirs.value:
        return f"equal: {ours.value:g} on each side"
    return (
        f"normalised: baseline has {ours.value:g}, candidate {theirs.value:g}; goodput is per "
        "accelerator-hour, attainments are as measured on unequal hardware"
    )


def _left_out(baseline: Side, candidate: Side) -> list[str]:
    common = common_buckets(baseline, candidate)
    said = []
    for bucket, ours, theirs in zip(BUCKETS, baseline.evaluated, candidate.evaluated, strict=True):
        if bucket not in common and (ours or theirs):
            name, count = ("baseline", ours) if ours else ("candidate", theirs)
            said.append(
                f"{count:,.0f} requests with prompts of {bucket or 'unknown'} tokens are only on {name}: "
                "they are no part of the common mix"
            )
    return said


def _summary(joint: Contrast, good: Contrast) -> str:
    return f"{_attained(joint)} {_good(good)}"


def _attained(item: Contrast) -> str:
    ours, theirs = item.baseline.value or 0.0, item.candidate.value or 0.0
    return f"{theirs:.1%} of candidate's requests met both limits, {ours:.1%} of baseline's: {_better(item)}."


def _good(item: Contrast) -> str:
    if item.baseline.value is None or item.candidate.value is None:
        return f"Goodput per accelerator-hour is not known: {item.reason}."
    ours, theirs = item.baseline.value, item.candidate.value
    return (
        f"Per accelerator-hour, candidate served {theirs:,.4g} good requests, baseline {ours:,.4g}: "
        f"{_better(item)}."
    )


def _better(item: Contrast) -> str:
    return "no difference is shown" if item.better == "neither" else f"{item.better} is better"
