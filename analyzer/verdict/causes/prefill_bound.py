"""The prompt's own prefill is too long for the objective, or slower than this prompt should take."""

from analyzer.verdict.evidence import Evidence, median
from analyzer.verdict.quoted import part
from analyzer.verdict.rule import Rule, everything
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags
from analyzer.verdict.vocabulary import Cause


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """Compute time beside the objective, and the prompt."""
    return [
        *part(s, "prefill_compute", chosen),
        *median("prefill_compute.expected", s.of(s.compute.expected), chosen, "s", str(s.compute.source)),
        *median("input_tokens", s.of(s.requests.input_tokens), chosen, "tokens"),
        *median("objective.ttft", s.of(s.requests.ttft_limit), chosen, "s", "supplied"),
    ]


RULE = Rule(
    Cause.PREFILL_BOUND,
    ("prefill_compute",),
    everything,
    explain,
    "Prefill itself does not fit the objective at this prompt length: more tensor parallelism, chunk size, "
    "prefix caching, or another objective for long prompts.",
    needs=("prefill_compute",),
    excludes="time that waits, hand-off or streaming explain",
)
