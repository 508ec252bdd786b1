"""One thing that a check-up of the telemetry found."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What sort of thing was found."""

    MISSING = "missing"
    """Something does not arrive that an answer needs."""
    LIE = "lie"
    """Something arrives that can't be so, or does not mean what its name says."""
    FACT = "fact"
    """Something happened to a worker or to a metric."""


class Severity(StrEnum):
    """How much it matters; `doctor` ends with 1 when something is at least a warning."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True)
class Check:
    """`subject` is the system, pool or worker that it is about; `fix` one line that would change it."""

    check: str
    kind: Kind
    severity: Severity
    system: str
    subject: str
    says: str
    matters: str
    fix: str = ""
