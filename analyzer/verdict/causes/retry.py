"""The request was dispatched more than once; what the earlier attempts took is lost."""

from analyzer.verdict.evidence import Evidence, median
from analyzer.verdict.rule import Rule, everything
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import PART, Flags
from analyzer.verdict.vocabulary import Cause


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """Attempts and the time lost."""
    return [
        *median("attempts", s.of(s.requests.attempts).astype(float), chosen, "attempts"),
        *median("retry", s.exposed[:, PART["retry"]], chosen),
    ]


RULE = Rule(
    Cause.RETRY_AMPLIFICATION,
    ("retry",),
    everything,
    explain,
    "Bound retries by a budget and back off; find what fails the first attempt, and tell its workers to stop.",
    needs=("pd.attempt",),
)
