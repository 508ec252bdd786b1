"""Prompts of a wanted length without anybody's text: drawn words or token ids.

A prompt is made of blocks of 512 tokens. A trace's block with one hash is the same block wherever it
appears, so that prefixes are shared as they were; what a trace does not name is each request's own.
"""

import random
from dataclasses import dataclass
from functools import lru_cache

from analyzer.plan.trace_files import MOONCAKE_BLOCK
from analyzer.replay.schedule import Planned

LOWEST_ID, HIGHEST_ID = 1000, 20_000
"""Token ids drawn from: above the special tokens and bytes, below the end of every common vocabulary."""
WORDS = [
    "time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school",
    "state", "family", "student", "group", "country", "problem", "hand", "part", "place", "case",
    "week", "company", "system", "program", "question", "work", "government", "number", "night",
    "point", "home", "water", "room", "mother", "area", "money", "story", "fact", "month", "lot",
    "right", "study", "book", "eye", "job", "word", "business", "issue", "side", "kind", "head",
    "house", "service", "friend", "father", "power", "hour", "game"
]  # fmt: skip
"""Common words, most of which are one token in most vocabularies."""
KEPT_BLOCKS = 4096


@dataclass(frozen=True)
class Lengths:
    """How token lengths become prompts: `ids` exactly, or words at a measured number of tokens each."""

    ids: bool
    words_per_token: float = 1.0
    overhead_tokens: float = 0.0
    """Tokens that the chat template adds to every prompt."""
    how: str = ""


def prompt(planned: Planned, lengths: Lengths, seed: int) -> str | list[int]:
    """The prompt of a request; the same seed gives the same."""
    wanted = max(1, round(planned.prompt - lengths.overhead_tokens))
    out: list[str] = []
    numbers: list[int] = []
    for index in range(-(-wanted // MOONCAKE_BLOCK)):
        named = planned.blocks[index] if index < len(planned.blocks) else None
        key = f"{seed}/block/{named}" if named is not None else f"{seed}/request/{planned.number}/{index}"
        if lengths.ids:
            numbers += _ids(key)
        else:
            out += _words(key, round(MOONCAKE_BLOCK * lengths.words_per_token))
    if lengths.ids:
        return numbers[:wanted]
    return " ".join(out[: max(1, round(wanted * lengths.words_per_token))])


@lru_cache(maxsize=KEPT_BLOCKS)
def _ids(key: str) -> list[int]:
    return random.Random(key).choices(range(LOWEST_ID, HIGHEST_ID), k=MOONCAKE_BLOCK)


@lru_cache(maxsize=KEPT_BLOCKS)
def _words(key: str, count: int) -> list[str]:
    return random.Random(key).choices(WORDS, k=count)
