"""A figure with how it is known, or with the reason why it is not."""

from dataclasses import dataclass
from typing import Literal

Source = Literal["observed", "derived", "bounded", "supplied"]


@dataclass(frozen=True)
class Measured:
    """`value` is None exactly when `source` is, and `reason` then says why.

    A bounded value is at least this much; its reason says what is missing.
    """

    value: float | None
    source: Source | None = None
    reason: str | None = None

    @classmethod
    def unknown(cls, reason: str) -> "Measured":
        """A figure that cannot be had."""
        return cls(None, None, reason)

    def per(self, other: "Measured") -> "Measured":
        """Divide by another figure; the quotient is known as badly as the worse of the two."""
        if self.value is None:
            return self
        if other.value is None:
            return other
        if other.value == 0:
            return Measured.unknown("there is nothing to divide by")
        worse = max((self, other), key=lambda figure: _RANK.index(figure.source or "observed"))
        reasons = [figure.reason for figure in (self, other) if figure.reason]
        return Measured(self.value / other.value, worse.source, "; ".join(reasons) or None)


_RANK: tuple[Source, ...] = ("observed", "derived", "supplied", "bounded")
