"""One side of a comparison, counted by the store: a bounded number of rows however many requests it has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyzer.slo.accelerators import Accelerators
from analyzer.slo.attainment import Accounting, accounting
from analyzer.slo.measured import Measured
from analyzer.slo.objectives import INPUT_BUCKETS, Objectives
from analyzer.slo.rows import Rows
from analyzer.slo.scope import Scope
from collector.sql import read_sql

BUCKETS = (*INPUT_BUCKETS, "")
"""Prompt buckets; the last is of prompts whose length is not known."""
BLOCKS = 100
"""Blocks of time between the first and the last request, which resampling draws whole."""
TURNS_FROM_NS = 86_400 * 1_000_000_000
"""How long before the window a conversation may have begun for its turns to be told (a day)."""
COUNTS = (
    *("evaluated", "met_ttft", "met_tpot", "met", "output_tokens", "prompt_tokens", "cached_tokens"),
    *("appended", "recomputed", "total"),
)
COUNT = {name: number for number, name in enumerate(COUNTS)}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Latencies:
    """p50, p95 and p99 in seconds; None when no request has the value."""

    ttft: tuple[float, ...] | None = None
    tpot: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Side:
    """Counted requests.

    `counts` is (blocks, turn, bucket, COUNTS); turn 0: no conversation, 1: first, 2: later.
    """

    scope: Scope
    requests: Accounting
    counts: Floats
    latencies: Mapping[str, Latencies]
    models: tuple[str, ...]
    workers: frozenset[str]
    gpus: Measured
    ttft_source: str
    """The instant that most TTFTs end with; empty when none has any."""
    agreed: Mapping[str, tuple[str, ...]]
    """What the workers say of the model they run, by property."""
    mean_output_tokens: float | None

    @property
    def gpu_hours(self) -> Measured:
        """Accelerators over the whole window."""
        if self.gpus.value is None:
            return self.gpus
        return Measured(self.gpus.value * self.scope.seconds / 3600, self.gpus.source)

    @property
    def evaluated(self) -> Floats:
        """Evaluated requests by bucket."""
        found: Floats = self.counts[..., COUNT["evaluated"]].sum(axis=(0, 1))
        return found


def read_side(store: Rows, scope: Scope, objectives: Objectives, gpus: float | None) -> Side:
    """Count one side; gpus: its accelerators, where workers do not say. Raises StoreError."""
    params = {**scope.params(), **objectives.params()}
    totals = store.rows(read_sql(__file__, "sql/totals"), params)[0]
    workers = frozenset(totals["workers"]) - {""}
    sources = store.rows(read_sql(__file__, "sql/ttft_sources"), params)
    return Side(
        scope=scope,
        requests=accounting(totals),
        counts=_counts(store, params, totals),
        latencies={row["bucket"]: _latencies(row) for row in _rows(store, "latencies", params)},
        models=tuple(sorted(totals["models"])),
        workers=workers,
        gpus=Accelerators(store, workers, gpus).count(workers),
        ttft_source=sources[0]["source"] if sources else "",
        agreed=_agreed(_rows(store, "agreed", {"workers": sorted(workers)}) if workers else ()),
        mean_output_tokens=totals["mean_output_tokens"],
    )


def _rows(store: Rows, name: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
    return store.rows(read_sql(__file__, f"sql/{name}"), params)


def _counts(store: Rows, params: Mapping[str, Any], totals: Mapping[str, Any]) -> Floats:
    out = np.zeros((BLOCKS, 3, len(BUCKETS), len(COUNTS)))
    if not totals["total"]:
        return out
    asked = {
        **params,
        "first_ns": totals["first_ns"],
        "last_ns": totals["last_ns"],
        "blocks": BLOCKS,
        "turns_from_ns": max(0, params["from_ns"] - TURNS_FROM_NS),
    }
    for row in _rows(store, "blocks", asked):
        place = (row["block"], row["turn"], BUCKETS.index(row["bucket"]))
        out[place] = [row[name] for name in COUNTS]
    return out


def _latencies(row: Mapping[str, Any]) -> Latencies:
    return Latencies(
        tuple(value / 1e9 for value in row["ttft"]) if row["with_ttft"] else None,
        tuple(value / 1e9 for value in row["tpot"]) if row["with_tpot"] else None,
    )


def _agreed(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for row in rows:
        found[row["property"]] = (*found.get(row["property"], ()), row["value"])
    return found
