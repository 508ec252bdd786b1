"""Whether the two sides of a hand-off agree: on versions and layouts, and on its name."""

import numpy as np

from analyzer.verdict.situation import Situation, once
from analyzer.verdict.tables import Codes, Flags, Worker

_MODEL_TYPES = {"bfloat16", "float16", "half", "float32"}


def differences(one: Worker | None, other: Worker | None) -> list[str]:
    """Keys of pd.compat.* that both sides state, with different values."""
    if one is None or other is None:
        return []
    both = one.agreed.keys() & other.agreed.keys()
    if "connector_version" in both:
        # engines of two releases whose connectors say that they agree do so
        both -= {"engine_version"}
    return sorted(key for key in both if _differ(one.agreed[key], other.agreed[key]))


def _differ(one: str, other: str) -> bool:
    """Whether two statements contradict: `auto` may well be the type that the other side names."""
    if one == other:
        return False
    return not ("auto" in (one, other) and {one, other} & _MODEL_TYPES)


def differing_pairs(s: Situation, producers: Codes, consumers: Codes) -> Flags:
    """Whether each pair differs."""
    out = np.zeros(len(producers), bool)
    if not len(producers):
        return out
    for producer, consumer in np.unique(np.column_stack([producers, consumers]), axis=0):
        workers = s.loaded.workers
        if differences(workers.get(int(producer)), workers.get(int(consumer))):
            out |= (producers == producer) & (consumers == consumer)
    return out


@once
def at_odds_with_decode(s: Situation) -> dict[int, list[str]]:
    """Producers that no decode worker of their deployment agrees with, and in what they differ from all of
    them: whichever was asked, it could not take their KV, and what refuses at once leaves no span.
    """
    pool = [s.loaded.workers.get(code) for code in s.pools.siblings("decode").tolist()]
    out = {}
    for code in s.pools.prefill_workers.tolist():
        each = [set(differences(s.loaded.workers.get(code), one)) for one in pool]
        if each and all(each):
            out[code] = sorted(set.intersection(*each) or set.union(*each))
    return out


def renamed_without_read(s: Situation) -> Flags:
    """Per request: published under one name, room reserved under another, and neither was ever read."""
    t = s.transfers
    size = len(s.requests)
    read = np.isfinite(t.imported) | np.isfinite(t.moved)
    published = (
        np.bincount(t.request[np.isfinite(t.published) & ~np.isfinite(t.reserved)], minlength=size) > 0
    )
    awaited = np.bincount(t.request[np.isfinite(t.reserved) & ~np.isfinite(t.published)], minlength=size) > 0
    done = np.bincount(t.request[read], minlength=size) > 0
    found: Flags = published & awaited & ~done & (s.requests.attempts == 1)
    return found
