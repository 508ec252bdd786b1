"""The hand-off was read after its lease had ended: the wait outlived the lease."""

import numpy as np

from analyzer.verdict.evidence import Evidence, count, median
from analyzer.verdict.rule import Rule, where
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags, Floats
from analyzer.verdict.vocabulary import Cause


def late(s: Situation) -> Flags:
    """Missed requests whose KV was read late."""
    return np.nan_to_num(s.of_hand_off(s.ledger.late_read.astype(np.float64))) > 0


def claim(s: Situation) -> Floats:
    """The whole hand-off of requests that were read late."""
    return where(late(s))


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """How many, the lease, and how long the KV waited."""
    t = s.transfers
    waited = np.fmax(t.imported, t.moved) - t.published
    return [
        *count("late_reads", s.ledger.late_read, "hand-offs"),
        *median("lease", s.of_hand_off(t.lease_end - t.published), chosen & late(s)),
        *median("published_until_read", s.of_hand_off(waited), chosen & late(s)),
    ]


RULE = Rule(
    Cause.EXPIRED_BEFORE_READ,
    ("decode_queue", "kv_transfer", "kv_import"),
    claim,
    explain,
    "Lengthen the lease beyond the longest hand-off (or renew it by heartbeat), and check the answers of the "
    "requests concerned: they may have been decoded from reused blocks.",
    needs=("kv_publish", "kv_release"),
    excludes="hand-offs read within their lease, renewals included",
)
