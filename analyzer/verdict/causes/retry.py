"""The request was dispatched more than once; what the earlier attempts took is lost."""

import numpy as np

from analyzer.verdict.causes.cancelled import ALL_OF_IT, LEAST
from analyzer.verdict.evidence import Evidence, median
from analyzer.verdict.quoted import part
from analyzer.verdict.rule import Rule, everything
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags, Floats
from analyzer.verdict.vocabulary import Cause


def ahead(s: Situation) -> Floats:
    """Of the computing while the request waited for prefill, how much was for attempts given up before."""
    since, until = (np.nan_to_num(edge) for edge in s.wait("prefill_queue"))
    lost = s.superseded.mean(s.prefill_worker, since, until)
    running = s.pools.prefill_running.mean(s.prefill_worker, since, until)
    found = np.where(lost > 0, lost / np.maximum(lost + running, 1e-9), 0.0)
    return np.where(found >= LEAST, np.minimum(found / ALL_OF_IT, 1.0), 0.0)


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """Attempts and the time lost."""
    return [
        *median("attempts", s.of(s.requests.attempts).astype(float), chosen, "attempts"),
        *part(s, "retry", chosen),
    ]


RULE = Rule(
    Cause.RETRY_AMPLIFICATION,
    ("retry",),
    everything,
    explain,
    "Bound retries by a budget and back off; find what fails the first attempt, "
    "and tell its workers to stop.",
    needs=("pd.attempt",),
)
AHEAD = Rule(
    Cause.RETRY_AMPLIFICATION,
    ("prefill_queue",),
    ahead,
    explain,
    "Stop the work of attempts that are given up, and bound retries by a budget: "
    "copies fill the prefill queue.",
    needs=("pd.attempt",),
    excludes="queues of work that counts",
)
