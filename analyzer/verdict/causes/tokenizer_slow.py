"""Rendering and tokenising the prompt takes long, wherever it is done: also within the router's queue, which
TTFT's cut counts first.
"""

import numpy as np

from analyzer.verdict.evidence import Evidence, median
from analyzer.verdict.quoted import known_by, part
from analyzer.verdict.rule import Rule, everything
from analyzer.verdict.situation import TOKENIZE_S_PER_TOKEN, Situation
from analyzer.verdict.tables import PART, Flags, Floats
from analyzer.verdict.vocabulary import Cause


def within_queue(s: Situation) -> Floats:
    """The part of the router's queue in which the prompt was tokenised, beyond what that takes anyway."""
    (since, until), (queued, sent) = s.wait("tokenize"), s.wait("router_queue")
    normal = TOKENIZE_S_PER_TOKEN * np.nan_to_num(s.of(s.requests.input_tokens))
    inside = np.nan_to_num(np.minimum(until, sent) - np.maximum(since, queued))
    inside = np.minimum(inside, np.nan_to_num(s.of(s.requests.duration("tokenize")))) - normal
    spent = s.exposed[:, PART["router_queue"]]
    found: Floats = np.clip(inside / np.where(spent > 0, spent, np.inf), 0.0, 1.0)
    return found


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """Time and prompt length."""
    return [
        *part(s, "tokenize", chosen),
        *median("input_tokens", s.of(s.requests.input_tokens), chosen, "tokens"),
    ]


def explain_within(s: Situation, chosen: Flags) -> list[Evidence]:
    """How long tokenising took of the router's queue."""
    took = s.of(s.requests.duration("tokenize"))
    return [
        *part(s, "router_queue", chosen),
        *median("tokenize", took, chosen, "s", known_by(s, "tokenize", chosen)),
        *median("input_tokens", s.of(s.requests.input_tokens), chosen, "tokens"),
    ]


_NEXT = "Give tokenisation more CPU or processes, use the compiled tokenizer, or send token ids."
RULE = Rule(
    Cause.TOKENIZER_SLOW,
    ("tokenize",),
    everything,
    explain,
    _NEXT,
    needs=("tokenize",),
)
WITHIN_QUEUE = Rule(
    Cause.TOKENIZER_SLOW,
    ("router_queue",),
    within_queue,
    explain_within,
    _NEXT,
    needs=("router_queue", "tokenize"),
    excludes="the rest of the router's queue",
)
