"""Whether two sides may be compared: refuses what makes it meaningless, notes what a reader must know."""

from analyzer.compare.errors import Unlike
from analyzer.compare.side import BUCKETS, Side

LEAST_EVALUATED = 20
"""Evaluated requests below which a side says nothing."""
LEAST_COMMON = 0.5
"""Part of each side's evaluated requests that must lie in prompt buckets both have."""
MUST_AGREE = ("model revision", "tokenizer")
"""Other revisions are another model; other tokenizers count other tokens."""
FAR_LOAD, FAR_LENGTH, MANY_INCOMPLETE = 1.25, 1.25, 0.05


def refuse_unlike(baseline: Side, candidate: Side, equal_accelerators: bool) -> None:
    """Raise Unlike, naming the first difference that matters."""
    for name, side in (("baseline", baseline), ("candidate", candidate)):
        if side.requests.evaluated < LEAST_EVALUATED:
            raise Unlike(
                "requests",
                f"requests: {name} has {side.requests.evaluated} evaluated requests in its window; "
                f"at least {LEAST_EVALUATED} are needed, widen the window or name another cohort",
            )
    _same("models", baseline.models, candidate.models, "give model= to compare one of them")
    for name in MUST_AGREE:
        ours, theirs = baseline.agreed.get(name, ()), candidate.agreed.get(name, ())
        if ours and theirs:
            _same(name, ours, theirs, "the sides do not run the same model")
    if baseline.ttft_source and candidate.ttft_source:
        _same(
            "TTFT source",
            (baseline.ttft_source,),
            (candidate.ttft_source,),
            "TTFT ends with another instant on each side; measure both in one place",
        )
    _refuse_other_mix(baseline, candidate)
    if equal_accelerators:
        _refuse_unequal_accelerators(baseline, candidate)


def common_buckets(baseline: Side, candidate: Side) -> list[str]:
    """Prompt buckets in which both sides have evaluated requests."""
    both = (baseline.evaluated > 0) & (candidate.evaluated > 0)
    return [bucket for bucket, common in zip(BUCKETS, both.tolist(), strict=True) if common]


def notes(baseline: Side, candidate: Side) -> list[str]:
    """What the sides differ in without being refused for it."""
    found = []
    ours, theirs = _load(baseline), _load(candidate)
    if ours and theirs and not 1 / FAR_LOAD <= theirs / ours <= FAR_LOAD:
        found.append(
            f"offered load per accelerator differs: {ours:.3g}/s on baseline, {theirs:.3g}/s on candidate; "
            "the side with less has it easier"
        )
    length = baseline.mean_output_tokens, candidate.mean_output_tokens
    if length[0] and length[1] and not 1 / FAR_LENGTH <= length[1] / length[0] <= FAR_LENGTH:
        found.append(f"answers differ in length: {length[0]:.0f} tokens on average, then {length[1]:.0f}")
    for name, side in (("baseline", baseline), ("candidate", candidate)):
        unknown = side.requests.incomplete / side.requests.total
        if unknown > MANY_INCOMPLETE:
            found.append(f"how {unknown:.0%} of {name}'s requests ended is not known; they are not counted")
    types = baseline.agreed.get("KV data type", ()), candidate.agreed.get("KV data type", ())
    if types[0] and types[1] and types[0] != types[1]:
        found.append(f"KV data types differ: {', '.join(types[0])} and {', '.join(types[1])}")
    if BUCKETS[-1] in common_buckets(baseline, candidate):
        found.append("some prompts are of unknown length: their mix cannot be made equal")
    return found


def _load(side: Side) -> float | None:
    return side.requests.total / side.scope.seconds / side.gpus.value if side.gpus.value else None


def _same(what: str, ours: tuple[str, ...], theirs: tuple[str, ...], what_to_do: str) -> None:
    if ours != theirs:
        raise Unlike(
            what, f"{what} differ: baseline {_listed(ours)}, candidate {_listed(theirs)}; {what_to_do}"
        )


def _listed(values: tuple[str, ...]) -> str:
    return " and ".join(repr(value[:64]) if value else "not named" for value in values) or "none"


def _refuse_other_mix(baseline: Side, candidate: Side) -> None:
    common = [BUCKETS.index(bucket) for bucket in common_buckets(baseline, candidate)]
    for name, side in (("baseline", baseline), ("candidate", candidate)):
        share = side.evaluated[common].sum() / side.evaluated.sum()
        if share < LEAST_COMMON:
            raise Unlike(
                "input mix",
                f"input mix: only {share:.0%} of {name}'s evaluated requests have prompt lengths that the "
                f"other side has too ({_mix(baseline)} on baseline, {_mix(candidate)} on candidate)",
            )


def _mix(side: Side) -> str:
    total = side.evaluated.sum()
    shares = zip(BUCKETS, (side.evaluated / total).tolist(), strict=True)
    return ", ".join(f"{bucket or 'unknown'} {share:.0%}" for bucket, share in shares if share)


def _refuse_unequal_accelerators(baseline: Side, candidate: Side) -> None:
    for name, side in (("baseline", baseline), ("candidate", candidate)):
        if side.gpus.value is None:
            raise Unlike("accelerators", f"accelerators of {name} are not known: {side.gpus.reason}")
    if baseline.gpus.value != candidate.gpus.value:
        raise Unlike(
            "accelerators",
            f"accelerators differ: baseline {baseline.gpus.value:g}, candidate {candidate.gpus.value:g}; "
            "accelerators=normalise compares per accelerator-hour",
        )
