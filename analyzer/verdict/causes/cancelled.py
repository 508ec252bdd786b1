"""Prefill computes for clients that are gone, and live requests wait behind that."""

import numpy as np

from analyzer.verdict.evidence import Evidence, count, median
from analyzer.verdict.quoted import part
from analyzer.verdict.rule import Rule
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags, Floats, Outcome
from analyzer.verdict.vocabulary import Cause

LEAST = 0.2
"""Below this fraction of the work ahead, departed clients are not what it waits for."""
ALL_OF_IT = 0.4
"""A busy worker without this fraction of its work would be at 60 % load, where waits are ordinary."""


def fraction(s: Situation) -> Floats:
    """Of the computing that went on while the request waited, how much was for clients that had left."""
    since, until = (np.nan_to_num(edge) for edge in s.wait("prefill_queue"))
    departed = s.pools.prefill_departed.mean(s.prefill_worker, since, until)
    running = s.pools.prefill_running.mean(s.prefill_worker, since, until)
    found = np.where(running > 0, departed / np.where(running > 0, running, 1.0), 0.0)
    return np.where(found >= LEAST, np.minimum(found / ALL_OF_IT, 1.0), 0.0)


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """How many clients left, and what share of the work ahead was theirs."""
    gone = s.requests.outcome == Outcome.CANCELLED
    return [
        *count("cancelled_requests", gone),
        *median("prefill_for_departed_clients", fraction(s) * ALL_OF_IT, chosen, "fraction", "derived"),
        *part(s, "prefill_queue", chosen),
    ]


RULE = Rule(
    Cause.CANCELLED,
    ("prefill_queue",),
    fraction,
    explain,
    "Let cancellations reach the prefill workers: abort on disconnect in the router, and drop queued prompts "
    "whose client is gone.",
    needs=("prefill_compute",),
    excludes="work ahead that was for clients still waiting",
)
