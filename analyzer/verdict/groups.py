"""Misses by cause within groups of requests."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyzer.occupancy import groups
from analyzer.verdict.attribution import CAUSES
from analyzer.verdict.diagnosis import Diagnosis
from analyzer.verdict.load import Columns
from analyzer.verdict.tables import Codes, Floats, Index
from collector.sql import read_sql

GROUPS = (
    "cause",
    "model",
    "tenant",
    "route",
    "cohort",
    "input_bucket",
    "output_bucket",
    "concurrency",
    "worker",
)
TOKEN_BUCKETS = ("0-1K", "1-4K", "4-16K", "16K+")
CONCURRENCY = ((1, 8), (8, 32), (32, 128), (128, 512), (512, None))


@dataclass(frozen=True)
class Group:
    """One group; `causes` holds requests, fractional where a miss is shared."""

    key: str | None
    requests: int
    missed: int
    causes: dict[str, float]


def attribution_by(store: Columns, found: Diagnosis, by: str) -> list[Group]:
    """Group a diagnosis, most misses first."""
    s = found.situation
    r = s.requests
    shares = found.attribution.shares
    if by == "cause":
        total = shares.sum(axis=0)
        return [
            Group(
                str(CAUSES[c]),
                int((shares[:, c] > 0).sum()),
                int((shares[:, c] > 0).sum()),
                {str(CAUSES[c]): float(total[c])},
            )
            for c in np.argsort(-total).tolist()
            if total[c] > 0
        ]
    of_miss = np.full(len(r), -1, np.intp)
    of_miss[s.rows] = np.arange(len(s.rows))
    out = []
    for key, rows in members_by(store, found, by).items():
        own = of_miss[rows]
        own = own[own >= 0]
        total = shares[own].sum(axis=0)
        causes = {str(CAUSES[c]): float(total[c]) for c in np.flatnonzero(total > 0).tolist()}
        out.append(Group(key, len(rows), len(own), causes))
    return sorted(out, key=lambda group: (-group.missed, -group.requests, group.key or ""))


def members_by(store: Columns, found: Diagnosis, by: str) -> dict[str | None, Index]:
    """Rows of the requests asked for, by group; a request with two workers is in both of theirs."""
    r = found.situation.requests
    out: dict[str | None, list[Index]] = {}
    if by == "all":
        return {"all": np.flatnonzero(r.inside)}
    for codes, name in _labels(store, found, by):
        for code, rows in groups(codes):
            chosen = rows[r.inside[rows]]
            key = name(code)
            if len(chosen) and not (by == "worker" and key is None):
                out.setdefault(key, []).append(chosen)
    return {key: np.unique(np.concatenate(rows)) for key, rows in out.items()}


def _labels(store: Columns, found: Diagnosis, by: str):  # type: ignore[no-untyped-def]
    """(codes, how a code is called) of each column that makes groups."""
    s, r = found.situation, found.situation.requests
    if by == "worker":
        return [(codes, lambda code: s.name(code) or None) for codes in (r.prefill_worker, r.decode_worker)]
    if by in ("input_bucket", "output_bucket"):
        tokens = r.input_tokens if by == "input_bucket" else r.output_tokens
        return [(token_bucket(tokens), lambda code: None if code == 9 else TOKEN_BUCKETS[code])]
    if by == "concurrency":
        return [(_concurrency(found), _concurrency_name)]
    names = store.columns(read_sql(__file__, "sql/labels"), {"label": by, **_window(found)})
    known = dict(zip((int(code) for code in names.get("code", ())), names.get("name", ()), strict=True))
    return [(getattr(r, by), lambda code: known.get(code) or None)]


def _window(found: Diagnosis) -> dict[str, object]:
    scope = found.situation.loaded.scope
    return {"from_ns": scope.from_ns, "to_ns": scope.to_ns, "model": scope.model}


def token_bucket(tokens: Floats) -> Codes:
    """Number of the bucket of TOKEN_BUCKETS; 9 for tokens not known. 1K is 1,024, lower edges included."""
    found = np.searchsorted([1024, 4096, 16384], np.nan_to_num(tokens), side="right")
    return np.where(np.isfinite(tokens), found, 9).astype(np.uint64)


def under_way(found: Diagnosis) -> NDArray[np.intp]:
    """Requests under way as each one started, itself included; where one tenant was asked for, of its own."""
    r = found.situation.requests
    counted = np.ones(len(r.start), bool)
    if found.situation.loaded.scope.tenant:
        counted = np.isin(r.tenant, r.tenant[r.inside])
    begun = np.zeros(len(r.start), np.intp)
    begun[counted] = np.argsort(np.argsort(r.start[counted], kind="stable"), kind="stable") + 1
    ends = np.sort(r.end[counted & np.isfinite(r.end)])
    many: NDArray[np.intp] = np.maximum(begun - np.searchsorted(ends, r.start, side="right"), 1)
    return many


def _concurrency(found: Diagnosis) -> Codes:
    """Number of a bucket of CONCURRENCY."""
    edges = [low for low, _ in CONCURRENCY[1:]]
    return np.searchsorted(edges, under_way(found), side="right").astype(np.uint64)


def _concurrency_name(code: int) -> str:
    low, high = CONCURRENCY[code]
    return f"{low}+" if high is None else f"{low}-{high - 1}"
