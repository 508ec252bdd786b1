"""Requests that were refused (429, 503): which pool was short as they came."""

from analyzer.verdict.causes.pool_state import FULL_IF_LET, decode_used, prefill_used
from analyzer.verdict.evidence import Evidence, count, median
from analyzer.verdict.rule import Rule, where
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags, Floats, Outcome
from analyzer.verdict.vocabulary import Cause


def _refused(s: Situation) -> Flags:
    found: Flags = s.of(s.requests.outcome) == Outcome.REJECTED
    return found


def by_prefill(s: Situation) -> Floats:
    """Refusals while prefill computed all the time and decode had room."""
    return where(_refused(s) & (prefill_used(s) >= FULL_IF_LET) & (decode_used(s) < FULL_IF_LET))


def by_decode(s: Situation) -> Floats:
    """Refusals while decode was full and prefill had time left."""
    return where(_refused(s) & (decode_used(s) >= FULL_IF_LET) & (prefill_used(s) < FULL_IF_LET))


def by_both(s: Situation) -> Floats:
    """Refusals while both pools were full."""
    return where(_refused(s) & (decode_used(s) >= FULL_IF_LET) & (prefill_used(s) >= FULL_IF_LET))


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """How many were refused, and how much of each pool was in use then."""
    return [
        *count("refused_requests", s.requests.inside & (s.requests.outcome == Outcome.REJECTED)),
        *median("prefill.busy", prefill_used(s), chosen, "fraction", "derived"),
        *median("decode.used", decode_used(s), chosen, "fraction", "derived"),
    ]


_NEEDS = ("prefill_compute", "decode", "kv_used_fraction")
_EXCLUDES = "refusals while no pool was full"
PREFILL = Rule(
    Cause.PREFILL_STARVED, ("failure",), by_prefill, explain,
    "Prefill is refused work it has no time for while decode has room: add prefill capacity.",
    needs=_NEEDS, excludes=_EXCLUDES, confidence=0.75,
)  # fmt: skip
DECODE = Rule(
    Cause.DECODE_STARVED, ("failure",), by_decode, explain,
    "Decode is full and new requests are refused: add decode slots or KV capacity.",
    needs=_NEEDS, excludes=_EXCLUDES, confidence=0.75,
)  # fmt: skip
BOTH = Rule(
    Cause.OVERLOAD, ("failure",), by_both, explain,
    "Both pools are full and refuse what they cannot take: add capacity to both.",
    needs=_NEEDS, excludes=_EXCLUDES, confidence=0.75,
)  # fmt: skip
