"""What checking a receipt found."""

from dataclasses import dataclass, field
from math import isclose

RELATIVE = 1e-6
"""Figures that differ by less are the same: two ways of summing steps differ by rounding."""


@dataclass
class Findings:
    """What was found: `problems` reject the receipt; `unchecked` could not be worked out again here."""

    problems: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)

    @property
    def status(self) -> str:
        """`rejected`, `incomplete` (nothing wrong found, not all could be checked) or `verified`."""
        if self.problems:
            return "rejected"
        return "incomplete" if self.unchecked else "verified"

    def same(self, what: str, said: float | None, found: float | None, hint: str = "") -> bool:
        """Whether a figure is what was found again; a problem otherwise."""
        if said is None or found is None:
            equal = said is found
        else:
            equal = isclose(said, found, rel_tol=RELATIVE, abs_tol=1e-9)
        if not equal:
            self.problems.append(f"{what}: the receipt says {said!r}, worked out again it is {found!r}{hint}")
        return equal
