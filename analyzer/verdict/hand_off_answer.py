"""KV hand-offs of a window in groups: volume, rates, failures, how many at once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analyzer.occupancy import Occupancy, groups
from analyzer.verdict.load import Columns
from analyzer.verdict.quantities import union
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Codes
from collector.sql import read_sql

GROUPS = ("pair", "connector", "worker")
OVER_LINE = 1.05
"""A rate this far above the line cannot be; it is left out and counted."""


@dataclass(frozen=True)
class HandOffs:
    """One group; rates in 1e9 bytes per second."""

    key: str | None
    transfers: int
    bytes: float | None
    rate: tuple[float, float] | None
    """Median and 5th percentile."""
    aggregate: float | None
    post_share: float | None
    failed: int
    concurrency: float | None
    link: float | None
    discarded: int


def hand_offs(store: Columns, s: Situation, by: str) -> list[HandOffs]:
    """Group the window's hand-offs by pair, connector or worker (either side), most bytes first."""
    t = s.transfers
    inside = s.requests.inside[t.request]
    out: dict[str | None, list[np.ndarray]] = {}
    for codes, name in _labels(store, s, by):
        for code, rows in groups(codes):
            chosen = rows[inside[rows]]
            key = name(code)
            if len(chosen) and not (by == "worker" and key is None):
                out.setdefault(key, []).append(chosen)
    found = [_group(s, key, np.unique(np.concatenate(rows))) for key, rows in out.items()]
    return sorted(found, key=lambda group: (-(group.bytes or 0.0), group.key or ""))


def _labels(store: Columns, s: Situation, by: str) -> list[tuple[Codes, Callable[[int], str | None]]]:
    t = s.transfers
    if by == "worker":
        return [(codes, lambda code: s.name(code) or None) for codes in (t.producer, t.consumer)]
    if by == "pair":
        pair = t.producer * np.uint64(31) + t.consumer
        sides = dict(
            zip(pair.tolist(), zip(t.producer.tolist(), t.consumer.tolist(), strict=True), strict=True)
        )
        return [(pair, lambda code: f"{s.name(sides[code][0]) or '?'} → {s.name(sides[code][1]) or '?'}")]
    names = store.columns(
        read_sql(__file__, "sql/connectors"), {"from_ns": s.loaded.origin_ns, "to_ns": s.loaded.scope.to_ns}
    )
    known = dict(zip((int(code) for code in names.get("code", ())), names.get("name", ()), strict=True))
    return [(t.connector, lambda code: known.get(code) or None)]


def _group(s: Situation, key: str | None, rows: np.ndarray) -> HandOffs:
    t = s.transfers
    took, size, link = t.seconds[rows], t.bytes[rows], t.link_gb_s[rows]
    rate = size / took / 1e9
    beyond = rate > OVER_LINE * link
    good = np.isfinite(rate) & ~beyond
    moved = np.isfinite(took)
    under_way = Occupancy(np.ones(int(moved.sum()), np.uint64), t.asked[rows][moved], t.moved[rows][moved])
    one = np.ones(int(moved.sum()), np.uint64)
    at_once = under_way.mean(one, t.asked[rows][moved], t.moved[rows][moved])
    post = t.post[rows] / took
    return HandOffs(
        key,
        len(rows),
        float(np.nansum(size)) if np.isfinite(size).any() else None,
        (float(np.median(rate[good])), float(np.percentile(rate[good], 5))) if good.any() else None,
        float(size[good].sum()) / union(t.asked[rows][good], t.moved[rows][good]) / 1e9
        if good.any()
        else None,
        float(np.median(post[np.isfinite(post)])) if np.isfinite(post).any() else None,
        int(t.gave_up[rows].sum()),
        round(float(at_once.mean()), 3) if moved.any() else None,
        float(np.nanmedian(link)) if np.isfinite(link).any() else None,
        int(beyond.sum()),
    )
