"""Errors raised by the planner.

PlanError
├── BadPlan          a setting of a plan is wrong: which, its value, what it must be
├── BadModelConfig   a model's config.json lacks a field or contradicts itself: file and field
├── BadTrace         a trace file cannot be used: file and line
├── BadCalibration   measured steps do not fit the step model; nothing may be recommended from it
└── BadReceipt       a receipt file cannot be read at all: file and reason
"""


class PlanError(Exception):
    """Base of everything the planner raises on purpose."""


class BadPlan(PlanError):
    """A setting of a plan is wrong; the message names it, its value and what it must be."""


class BadModelConfig(PlanError):
    """A model's config.json cannot be used; the message names the file and the field."""


class BadTrace(PlanError):
    """A trace file cannot be used; the message names the file and the line."""


class BadCalibration(PlanError):
    """Measured steps do not fit the step model; the message says by how much."""


class BadReceipt(PlanError):
    """A receipt cannot be read; the message names the file and the reason."""


def need_positive(name: str, value: float) -> float:
    """`value` if it is a finite number above zero, else BadPlan."""
    if not 0 < value < float("inf"):
        raise BadPlan(f"{name} is {value!r}; it must be a finite number above 0")
    return value


def need_not_negative(name: str, value: float) -> float:
    """`value` if it is a finite number of at least zero, else BadPlan."""
    if not 0 <= value < float("inf"):
        raise BadPlan(f"{name} is {value!r}; it must be a finite number, 0 or more")
    return value
