"""The smallest layout that meets a contract with headroom, chunked prefill considered first. Modelled."""

from collections.abc import Sequence
from dataclasses import dataclass

from analyzer.plan.evaluate import Contract, Evaluation
from analyzer.plan.layout import Colocated, Layout
from analyzer.plan.provenance import Label
from analyzer.plan.transfer_budget import TransferBudget


@dataclass(frozen=True, slots=True)
class Lane:
    """One pool: workers that serve now and that are recommended; None where there is no such pool now."""

    pool: str
    now: int | None
    then: int

    @property
    def change(self) -> str:
        """grows, shrinks, stays, opens or closes."""
        if self.now is None:
            return "opens"
        if self.then == 0:
            return "closes"
        return "stays" if self.now == self.then else "grows" if self.then > self.now else "shrinks"


@dataclass(frozen=True, slots=True)
class Rejection:
    """A layout that is not to be used, and every reason."""

    layout: Layout
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """`layout` None: nothing tried meets the contract. `considered` tells what was weighed, in order."""

    layout: Layout | None
    statement: str
    considered: tuple[str, ...]
    lanes: tuple[Lane, ...]
    rejected: tuple[Rejection, ...]
    label: Label = Label.MODELLED


def recommend(
    evaluations: Sequence[Evaluation], contract: Contract, headroom: float, budget: TransferBudget,
    served: Layout | None = None,
) -> Recommendation:  # fmt: skip
    """Choose among `evaluations`: every layout under the arrivals as they are and with `headroom` more.

    The fewest workers win; of as many, colocated ones, then the best attainment where it is worst.
    """
    groups: dict[Layout, list[Evaluation]] = {}
    for evaluation in evaluations:
        groups.setdefault(evaluation.layout, []).append(evaluation)
    reasons = {layout: _reasons(group) for layout, group in groups.items()}
    fit = sorted(
        (layout for layout in groups if not reasons[layout]), key=lambda x: _preference(x, groups[x])
    )
    rejected = tuple(Rejection(layout, tuple(why)) for layout, why in reasons.items() if why)
    chosen = fit[0] if fit else None
    considered = _considered(groups, fit, reasons, served, budget)
    if chosen is None:
        statement = (
            f"No layout tried meets the contract with {headroom:.0%} headroom, "
            f"{100 * contract.attainment:g} % within both objectives (modelled)."
        )
        return Recommendation(None, statement, considered, (), rejected)
    enough = "colocated is enough: " if isinstance(chosen, Colocated) else ""
    statement = (
        f"{enough}{chosen.name} is the smallest layout tried that meets the contract with {headroom:.0%} "
        f"headroom: {100 * _worst(groups[chosen]):.1f} % within both objectives (modelled)."
    )
    return Recommendation(
        chosen, statement[0].upper() + statement[1:], considered, _lanes(served, chosen), rejected
    )


def _reasons(group: list[Evaluation]) -> list[str]:
    return list(dict.fromkeys(reason for evaluation in group for reason in evaluation.reasons))


def _worst(group: list[Evaluation]) -> float:
    return min(evaluation.figures.met or 0.0 for evaluation in group)


def _preference(layout: Layout, group: list[Evaluation]) -> tuple[int, bool, float, str]:
    return layout.workers, not isinstance(layout, Colocated), -_worst(group), layout.name


def _considered(
    groups: dict[Layout, list[Evaluation]], fit: list[Layout], reasons: dict[Layout, list[str]],
    served: Layout | None, budget: TransferBudget,
) -> tuple[str, ...]:  # fmt: skip
    said = [
        _tried("Chunked prefill first", True, groups, fit, reasons),
        _tried("Two pools", False, groups, fit, reasons),
    ]
    if budget.refused:
        said.append(budget.refused[0].upper() + budget.refused[1:])
    else:
        said.append(
            f"Transfer budget: a p95 prompt's hand-off leaves {budget.left:.0%} of what prefill leaves of "
            f"the TTFT objective ({budget.reserve:.0%} must be left)"
        )
    if served in groups and served is not None:
        verdict = "meets the contract" if served in fit else "does not meet it"
        said.append(f"Today's layout: {served.name}, {100 * _worst(groups[served]):.1f} %, {verdict}")
    return tuple(said)


def _tried(
    what: str, colocated: bool, groups: dict[Layout, list[Evaluation]], fit: list[Layout],
    reasons: dict[Layout, list[str]],
) -> str:  # fmt: skip
    mine = [layout for layout in groups if isinstance(layout, Colocated) is colocated]
    if not mine:
        return f"{what}: none tried"
    good = [layout for layout in fit if layout in mine]
    if good:
        return (
            f"{what}: {good[0].name} is enough, {100 * _worst(groups[good[0]]):.1f} % within both objectives"
        )
    best = max(mine, key=lambda layout: _worst(groups[layout]))
    return (
        f"{what}: none of {len(mine)} tried is enough; {best.name} comes nearest with "
        f"{100 * _worst(groups[best]):.1f} % ({reasons[best][0]})"
    )


def _pools(layout: Layout) -> dict[str, int]:
    if isinstance(layout, Colocated):
        return {"colocated": layout.workers}
    return {"prefill": layout.prefill, "decode": layout.decode}


def _lanes(served: Layout | None, chosen: Layout) -> tuple[Lane, ...]:
    now, then = _pools(served) if served is not None else {}, _pools(chosen)
    return tuple(Lane(pool, now.get(pool), then.get(pool, 0)) for pool in {**now, **then})
