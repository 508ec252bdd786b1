"""Rendering and tokenising the prompt takes long, wherever it is done."""

from analyzer.verdict.evidence import Evidence, median
from analyzer.verdict.quoted import part
from analyzer.verdict.rule import Rule, everything
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags
from analyzer.verdict.vocabulary import Cause


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """Time and prompt length."""
    return [
        *part(s, "tokenize", chosen),
        *median("input_tokens", s.of(s.requests.input_tokens), chosen, "tokens"),
    ]


RULE = Rule(
    Cause.TOKENIZER_SLOW,
    ("tokenize",),
    everything,
    explain,
    "Give tokenisation more CPU or processes, use the compiled tokenizer, or send token ids.",
    needs=("tokenize",),
)
