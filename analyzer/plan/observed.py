"""Stored requests as a plan needs them: what arrived, on which workers it ran, how long its parts took."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from analyzer.plan.errors import BadPlan
from analyzer.plan.layout import Colocated, Disaggregated, Layout
from analyzer.plan.outcome import Floats, Objective, Window
from analyzer.plan.provenance import Label
from analyzer.plan.receipt_model import MAX_CARRIED
from analyzer.plan.workload import Workload
from analyzer.slo.objectives import Objective as Promise
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from collector.sql import read_sql

MAX_OBSERVED = MAX_CARRIED
"""Most requests read of a window: half a minute of simulation a layout at the utmost."""
MAX_LEFT_OUT = 0.05
"""Largest share of requests that may lack token counts: what is left out is load that is not planned for."""
QUERY = "analyzer/plan/sql/observed_requests.sql"

Flags = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]


class Columns(Protocol):
    """The part of the store that is read here."""

    def columns(self, sql: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Columns of a SELECT."""
        ...

    def rows(self, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Rows of a SELECT."""
        ...


@dataclass(frozen=True)
class HandOffs:
    """KV hand-offs, one row each: seconds from asking to moved, bytes and tokens, nan where not reported."""

    seconds: Floats
    bytes: Floats
    tokens: Floats


@dataclass(frozen=True)
class Observed:
    """Requests of a window in order of arrival; times are seconds from the first arrival, nan: not known.

    `met` and `evaluated` follow the convention's accounting under the objective asked for. `front` is what
    passed before a worker had the request. Worker columns are codes, -1 where none is named; a prompt and a
    stream worker of one name have one code. `left_out` counts by reason the requests that are not replayed.
    """

    workload: Workload
    window: str
    objective: Objective
    evaluated: Flags
    met: Flags
    ttft: Floats
    tpot: Floats
    front: Floats
    prefill_from: Floats
    prefill_until: Floats
    prompt_worker: Codes
    stream_worker: Codes
    workers: tuple[str, ...]
    gpus: int | None
    hand_offs: HandOffs
    left_out: dict[str, int]
    notes: tuple[str, ...] = ()

    @property
    def first(self) -> Floats:
        """When each request's first token was sent."""
        return self.workload.columns.arrival_s + self.ttft

    @property
    def last(self) -> Floats:
        """When its last one was."""
        return self.first + self.tpot * (self.workload.columns.output - 1)

    @property
    def measured(self) -> Window:
        """The arrivals that count: the first and last eighth warm up and drain, as in every plan."""
        return Window(self.workload.span_s / 8, self.workload.span_s * 7 / 8)

    @property
    def pools(self) -> tuple[int, int]:
        """Prompt workers and stream workers that were seen; with one pool, the same number twice."""
        return len(_named(self.prompt_worker)), len(_named(self.stream_worker))

    @property
    def colocated(self) -> bool:
        """Whether requests stay on the worker that computes their prompt."""
        known = (self.prompt_worker >= 0) & (self.stream_worker >= 0)
        return bool(np.mean(self.prompt_worker[known] == self.stream_worker[known]) > 0.5)

    def layout(self, chunk: int | None, prefill_budget: int) -> Layout:
        """What served the window. `chunk`: step budget of colocated workers, which telemetry does not say.

        BadPlan when no worker is named, or colocated ones come without a chunk.
        """
        prefill, decode = self.pools
        if not prefill or not decode:
            raise BadPlan(f"{self.window}: requests do not name the workers they ran on")
        if not self.colocated:
            return Disaggregated(prefill, decode, prefill_budget)
        if chunk is None:
            raise BadPlan(
                f"{self.window} ran on {prefill} colocated workers; say with which chunk budget "
                "(--served-chunk, tokens a step): telemetry does not"
            )
        return Colocated(prefill, chunk)


def _named(workers: Codes) -> npt.NDArray[np.int32]:
    return np.unique(workers[workers >= 0])


def read_observed(store: Columns, scope: Scope, objective: Objective) -> Observed:
    """The requests of a scope; BadPlan when there are none, too many, or too many without token counts."""
    promise = Objectives((Promise("plan", objective.ttft_s, objective.tpot_s),))
    params = {**scope.params(), **promise.params(), "most": MAX_OBSERVED + 1}
    raw = store.columns(read_sql(__file__, "sql/observed_requests"), params)
    window = _window(scope)
    if not raw or not len(raw["started_ns"]):
        raise BadPlan(f"{window}: no requests are stored")
    if len(raw["started_ns"]) > MAX_OBSERVED:
        raise BadPlan(f"{window}: more than {MAX_OBSERVED:,} requests; ask for a shorter window")
    kept, left_out = _usable(raw, window)
    r = {name: column[kept] for name, column in raw.items()}
    cached, notes = _cached(r)
    origin = int(r["started_ns"][0])
    arrival = (r["started_ns"] - origin) / 1e9
    if arrival[-1] <= 0:
        raise BadPlan(f"{window}: all {len(arrival)} requests arrive at one instant")
    names = sorted({*r["prompt_worker"].tolist(), *r["stream_worker"].tolist()} - {""})
    workload = Workload(
        tuple(arrival.tolist()), tuple(r["prompt"].astype(int).tolist()),
        tuple(r["output"].astype(int).tolist()), tuple(cached.tolist()),
        Label.OBSERVED, f"stored requests, {window}",
    )  # fmt: skip
    return Observed(
        workload=workload,
        window=window,
        objective=objective,
        evaluated=r["evaluated"] == 1,
        met=r["met"] == 1,
        ttft=np.where(r["censored"] == 1, np.nan, r["ttft"]),
        tpot=r["tpot"].copy(),
        front=r["front"].copy(),
        prefill_from=arrival + r["prefill_from"],
        prefill_until=arrival + r["prefill_until"],
        prompt_worker=_codes(r["prompt_worker"], names),
        stream_worker=_codes(r["stream_worker"], names),
        workers=tuple(names),
        gpus=_gpus(store, names),
        hand_offs=_hand_offs(store, scope, names),
        left_out=left_out,
        notes=tuple(notes),
    )


def _window(scope: Scope) -> str:
    when = " to ".join(
        np.datetime_as_string(np.datetime64(ns, "ns"), unit="ms") + "Z" for ns in (scope.from_ns, scope.to_ns)
    )
    labels = ("model", "tenant", "route", "cohort", "pool", "worker")
    said = [f"{name} {value}" for name in labels if (value := getattr(scope, name))]
    return ", ".join([when, *said])


def _usable(raw: Mapping[str, Any], window: str) -> tuple[Flags, dict[str, int]]:
    """Rows with token counts. Invalid requests are no load; others without counts are, and are counted."""
    invalid = raw["outcome"] == "invalid"
    rejected = raw["outcome"] == "rejected"
    counted = (raw["prompt"] >= 1) & (raw["output"] >= 1)
    kept: Flags = counted & ~invalid & ~rejected
    reasons = {
        "invalid": invalid,
        "rejected": rejected,
        "no prompt or output tokens known": ~counted & ~invalid & ~rejected,
    }
    left_out = {name: int(rows.sum()) for name, rows in reasons.items() if rows.any()}
    load = int((~invalid).sum())
    if not kept.any() or load - kept.sum() > MAX_LEFT_OUT * load:
        said = ", ".join(f"{n} {name}" for name, n in left_out.items())
        raise BadPlan(
            f"{window}: {load - int(kept.sum())} of {load} requests cannot be replayed ({said}); at most "
            f"{MAX_LEFT_OUT:.0%} may be left out, as a plan without them plans for too little"
        )
    return kept, left_out


def _cached(r: Mapping[str, Any]) -> tuple[npt.NDArray[np.int64], list[str]]:
    unknown = np.isnan(r["cached"])
    notes = []
    if unknown.any():
        notes.append(
            f"{int(unknown.sum())} of {len(unknown)} requests do not say how much of their prompt was "
            "cached; taken as none"
        )
    # the last token of a prompt is always computed
    cached = np.minimum(np.nan_to_num(r["cached"]), r["prompt"] - 1)
    return cached.astype(np.int64), notes


def _codes(workers: Any, names: list[str]) -> Codes:
    number = {name: k for k, name in enumerate(names)} | {"": -1}
    return np.array([number[name] for name in workers.tolist()], np.int32)


def _gpus(store: Columns, workers: list[str]) -> int | None:
    """Accelerators of a worker, where every one says so and they agree."""
    import analyzer.slo

    rows = store.rows(read_sql(analyzer.slo.__file__, "gpus"), {"workers": workers}) if workers else []
    said = {int(row["gpus"]) for row in rows}
    return said.pop() if len(said) == 1 and 0 not in said else None


def _hand_offs(store: Columns, scope: Scope, workers: list[str]) -> HandOffs:
    params = {"from_ns": scope.from_ns, "to_ns": scope.to_ns, "workers": workers, "most": MAX_OBSERVED}
    raw = store.columns(read_sql(__file__, "sql/observed_transfers"), params)
    if not raw:
        return HandOffs(*(np.empty(0) for _ in range(3)))
    return HandOffs(raw["seconds"].copy(), raw["bytes"].copy(), raw["tokens"].copy())
