"""Where a number comes from. A modelled value never appears as an observed one."""

from dataclasses import dataclass
from enum import StrEnum

from analyzer.plan.errors import BadPlan


class Label(StrEnum):
    """How a value is known."""

    OBSERVED = "observed"
    SUPPLIED = "supplied"
    DERIVED = "derived"
    MODELLED = "modelled"


@dataclass(frozen=True, slots=True)
class Input:
    """One number a plan rests on, with its unit and provenance.

    `origin` says which: `observed` the query or file, `supplied` by whom, `derived` the formula.
    `window` is needed with `observed`: the period (or, for a file, the rows) it was read from.
    """

    name: str
    value: float
    unit: str
    label: Label
    origin: str
    window: str = ""

    def __post_init__(self) -> None:
        if self.label is Label.MODELLED:
            raise BadPlan(f"input {self.name} is labelled modelled; inputs are observed, supplied or derived")
        if not self.origin:
            raise BadPlan(f"input {self.name} ({self.label}) has no origin; say where the value comes from")
        if self.label is Label.OBSERVED and not self.window:
            raise BadPlan(f"input {self.name} is labelled observed without the window it was observed in")
