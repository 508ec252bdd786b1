"""A fact about the fleet or its telemetry, beside the causes; only ever with evidence."""

from collections.abc import Callable
from dataclasses import dataclass, field

from analyzer.verdict.attribution import Attribution
from analyzer.verdict.evidence import Evidence
from analyzer.verdict.situation import Situation


@dataclass(frozen=True)
class Finding:
    """One fact; `requests` it concerns, where that can be said."""

    finding: str
    severity: str
    detail: str
    requests: int | None = None
    evidence: list[Evidence] = field(default_factory=list)


Check = Callable[[Situation, Attribution], Finding | None]
"""Looks at a window; None when there is nothing to report, or not enough to be sure."""
