"""What is found about the fleet and its telemetry in five minutes, beside the causes of misses."""

import numpy as np

from analyzer.verdict.attribution import Attribution
from analyzer.verdict.findings import Finding, find
from analyzer.verdict.situation import Situation


def found_beside(s: Situation, attribution: Attribution) -> list[Finding]:
    """The findings that `GET /diagnosis` gives for the same window and model."""
    # nan is "not known": what is computed from it is not known either, without a warning
    with np.errstate(divide="ignore", invalid="ignore"):
        return find(s, attribution)
