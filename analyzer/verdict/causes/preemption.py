"""Decode set a running request aside for want of cache, and it had to be restored or never came back."""

import numpy as np

from analyzer.signals.counters import total
from analyzer.verdict.evidence import Evidence, count, median, number
from analyzer.verdict.quoted import known_by
from analyzer.verdict.rule import Rule, everything, where
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags, Floats
from analyzer.verdict.vocabulary import Cause


def failed(s: Situation) -> Floats:
    """Requests that ended unanswered while, or after, they were set aside for most of their time."""
    aside = s.of(s.requests.preempted)
    most = aside > 0.5 * np.nan_to_num(s.of(s.requests.lasted)) - np.nan_to_num(s.of(s.requests.ttft))
    return where((aside > 0) & most)


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """How many, how long, and the cache's use."""
    aside = s.of(s.requests.preempted)
    until = np.nan_to_num(s.wait("decode")[1])
    counted = [item for item in s.loaded.increases if item.signal == "preemptions_total"]
    return [
        *count("preempted_requests", s.requests.preempted > 0),
        *median("preempted", aside, chosen & (aside > 0), "s", known_by(s, "preempted", chosen)),
        *median("decode.kv_used_fraction", s.pools.kv_used(s.decode_worker, until), chosen, "fraction"),
        *number("preemptions_total", total(counted), "preemptions"),
    ]


_NEXT = (
    "Give decode more KV or admit fewer streams; check that a preempted request can get its prompt KV back "
    "(a push connector sends it only once)."
)
TOKENS = Rule(
    Cause.PREEMPTION, ("tpot.preempted",), everything, explain, _NEXT,
    needs=("preempted and resumed events on decode",), excludes="streams that were never set aside",
)  # fmt: skip
FAILED = Rule(
    Cause.PREEMPTION, ("failure",),
    failed, explain, _NEXT,
    needs=("preempted and resumed events on decode",), excludes="requests that were never set aside",
)  # fmt: skip
