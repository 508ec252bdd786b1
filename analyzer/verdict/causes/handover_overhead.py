"""Between the pools, neither computing nor moving bytes: publishing, dispatch, alignment, first token."""

import numpy as np

from analyzer.verdict.evidence import Evidence
from analyzer.verdict.quoted import part
from analyzer.verdict.rule import Rule, everything
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import PART, Flags, Floats
from analyzer.verdict.vocabulary import Cause


def gap(s: Situation) -> Floats:
    """The part of the uncovered time that lies between the offer of KV and decode having the request.

    Only where both sides' spans are there: then nothing but the way between them is left. And only what
    exceeds the doubt about the two clocks, which is not bounded where one of them is not.
    """
    offered = s.wait("kv_publish")[1]
    r = s.requests
    next_known = np.fmin(s.of(r.began("decode_queue")), s.of(r.began("kv_transfer")))
    seen = np.isfinite(s.of(r.began("decode_queue"))) & np.isfinite(s.of(r.began("kv_transfer")))
    bare = s.exposed[:, PART["unattributed"]]
    between = np.where(seen, np.maximum(next_known - offered - s.between_pools_doubt, 0.0), 0.0)
    return np.clip(np.nan_to_num(between / np.where(bare > 0, bare, np.inf)), 0.0, 1.0)


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """Each part of the hand-over beside the transfer itself."""
    parts = ("kv_publish", "decode_queue", "kv_import", "first_decode_step", "kv_transfer")
    return [item for name in parts for item in part(s, name, chosen)]


RULE = Rule(
    Cause.HANDOVER_OVERHEAD,
    ("kv_publish", "decode_queue", "kv_import", "first_decode_step"),
    everything,
    explain,
    "Shorten the control path: dispatch decode before prefill ends, import between steps, and do not "
    "compute the first token twice.",
    needs=("kv_publish", "decode_queue", "kv_import"),
    excludes="decode without room; bytes in flight",
    confidence=0.85,
)
GAP = Rule(
    Cause.HANDOVER_OVERHEAD,
    ("unattributed",),
    gap,
    explain,
    "Time passes between prefill's offer and decode's having the request: trace and shorten the "
    "router's dispatch.",
    needs=("kv_publish", "kv_transfer", "decode_queue"),
    excludes="gaps where the spans of either side are missing",
    confidence=0.75,
)
