"""Between the pools, neither computing nor moving bytes: publishing, dispatch, alignment, first token."""

from analyzer.verdict.evidence import Evidence, median
from analyzer.verdict.rule import Rule, everything
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import PART, Flags
from analyzer.verdict.vocabulary import Cause


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """Each part of the hand-over beside the transfer itself."""
    parts = ("kv_publish", "decode_queue", "kv_import", "first_decode_step", "kv_transfer")
    return [item for part in parts for item in median(part, s.exposed[:, PART[part]], chosen)]


RULE = Rule(
    Cause.HANDOVER_OVERHEAD,
    ("kv_publish", "decode_queue", "kv_import", "first_decode_step"),
    everything,
    explain,
    "Shorten the control path: dispatch decode before prefill ends, import between steps, and do not "
    "compute the first token twice.",
    needs=("kv_publish", "decode_queue", "kv_import"),
    excludes="decode without room; bytes in flight",
    confidence=0.8,
)
