"""What timelines say, quoted as evidence with the word by which they know it: observed, derived, bounded."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from analyzer.verdict.evidence import Evidence, median
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import PART, Flags

_WORDS = ("observed", "derived", "bounded")
"""From the strongest to the weakest."""


def known_by(s: Situation, phase: str, chosen: Flags) -> str:
    """How the timelines of the chosen missed requests know a phase. What no interval says (the time lost to
    attempts that were given up) is worked out from others.
    """
    systems = np.unique(s.of(s.requests.system)[chosen]).tolist()
    return _weakest(s.loaded.sources.get((int(system), phase), "derived") for system in systems)


def part(s: Situation, name: str, chosen: Flags) -> list[Evidence]:
    """Median of a part of TTFT of the chosen missed requests, in seconds."""
    return median(name, s.exposed[:, PART[name]], chosen, "s", known_by(s, name, chosen))


def of_one(evidence: Iterable[Evidence], intervals: Iterable[Mapping[str, Any]]) -> list[Evidence]:
    """Evidence about one request alone, phases as its own intervals (phase, source) know them."""
    said: dict[str, list[str]] = {}
    for interval in intervals:
        said.setdefault(str(interval["phase"]), []).append(str(interval["source"]))
    return [
        replace(item, source=_weakest(said[item.signal])) if item.signal in said else item
        for item in evidence
    ]


def _weakest(words: Iterable[str]) -> str:
    return max(words, key=_WORDS.index, default="derived")
