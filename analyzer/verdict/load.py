"""Reads what verdicts are made from out of the store, as columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import numpy as np

from analyzer.beside import beside
from analyzer.signals import histograms, increases
from analyzer.signals.counters import Increase
from analyzer.signals.histograms import HistogramSummary
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.verdict.readings import SIGNALS, Readings
from analyzer.verdict.tables import ClockOffset, Codes, Requests, Transfers, Worker, table_fields
from collector.engines import ADAPTERS
from collector.phases import DECODE_PARTS, TTFT_PARTS, Phase
from collector.sql import read_sql

CONTEXT_NS = 900 * 1_000_000_000
"""How long before the window requests are read for what the pools were doing (15 minutes)."""
CONTEXT_REQUESTS = 20_000
"""Where so many came in less time, what lies before them is left out, but for `CONTEXT_LIVES`: it would cost
memory by the rate and tell nothing more.
"""
CONTEXT_LIVES = 3
"""How many times what 99 of 100 requests last is read before the window in any case."""
LEVEL_STEPS = 720
"""Gauges are read in at most so many steps of the window, never finer than a second."""
COUNTERS = (
    "preemptions_total",
    "kv_expired_total",
    "transfer_failures_total",
    "transfer_bytes_total",
    "prompt_tokens_total",
    "nic_bytes_total",
    "aborted_requests_total",
    "late_kv_reads_total",
)

Raw = Mapping[str, np.ndarray]
Rows = list[dict[str, Any]]


class Columns(Protocol):
    """The part of the store that is read here."""

    def columns(self, sql: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Columns of a SELECT."""
        ...

    def rows(self, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Rows of a SELECT."""
        ...


@dataclass(frozen=True)
class Silent:
    """A metric that read nothing but 0, and how often."""

    metric: str
    worker: str
    points: int


@dataclass(frozen=True)
class LastTransfers:
    """A gauge of the last transfer's time or rate: its readings above 0, in the metric's own unit."""

    metric: str
    unit: str
    points: int
    mean: float
    high: float


@dataclass(frozen=True)
class Loaded:
    """Everything about one window."""

    scope: Scope
    objectives: Objectives
    origin_ns: int
    requests: Requests
    transfers: Transfers
    workers: Mapping[int, Worker]
    """By code; also processes that no request names."""
    readings: Readings
    increases: list[Increase]
    histograms: list[HistogramSummary]
    clocks: list[ClockOffset]
    silent: list[Silent]
    nesting: tuple[int, int]
    """Spans under others than the request's, and how many of them begin after those ended; of a sample."""
    superseded: Raw
    """worker, since, until of prompts computed for attempts that were given up."""
    sources: Mapping[tuple[int, str], str]
    """How timelines know a phase, by the system's code and the phase."""
    usual_lease: Mapping[int, float] = field(default_factory=dict)
    """Seconds that a serving system keeps unread KV by default, by the code of its name: supplied."""
    last_transfers: Sequence[LastTransfers] = ()


def load(store: Columns, scope: Scope, objectives: Objectives) -> Loaded:
    """Read the requests of a scope, and whatever shared the pools with them a while before and during it."""
    models = sharing_workers(store, scope)
    since = context_from(store, scope, models)
    # one name narrows what is read; of several, those that share workers are picked out of all
    window = {
        "from_ns": since,
        "to_ns": scope.to_ns,
        "model": scope.model if len(models) < 2 else "",
        "models": models,
    }
    inside = {**window, "from_ns": scope.from_ns, "model": scope.model}
    with beside() as reads:
        handed_off = reads(store.columns, read_sql(__file__, "sql/transfers"), window)
        sources = reads(_sources, store, inside)
        workers = reads(_workers, store, window, scope.from_ns)
        nesting = reads(_nesting, store, inside)
        signals = reads(_signals, store, window, scope.from_ns)
        clocks = reads(store.rows, read_sql(__file__, "sql/clocks"), inside)
        asked = {**window, **_only(scope), **objectives.params()}
        raw = store.columns(read_sql(__file__, "sql/requests"), asked)
    requests = _requests(raw, scope.from_ns, objectives)
    transfers = _transfers(handed_off.result(), requests, scope.from_ns)
    codes, levels, counted, seen, told = signals.result()
    served = {*_codes(requests), *transfers.producer.tolist()}
    return Loaded(
        scope,
        objectives,
        scope.from_ns,
        requests,
        transfers,
        workers.result(),
        Readings(levels, {part: codes[part] for part in _PARTS}),
        increases(counted),
        histograms(seen),
        _clocks(clocks.result(), served, workers.result()),
        [Silent(row["metric"], row["worker"], row["points"]) for row in told if row["silent"]],
        nesting.result(),
        _superseded(store, window, requests, scope.from_ns),
        sources.result(),
        {codes[name]: lease for name, lease in _USUAL_LEASES.items()},
        [_last_transfers(row) for row in told if not row["silent"]],
    )


def _signals(
    store: Columns, window: Mapping[str, Any], origin_ns: int
) -> tuple[dict[str, int], Raw, Rows, Rows, Rows]:
    """Return codes of names, levels, counters, histograms, and what metrics of hand-offs told."""
    codes = _codes_of(store, (*_PARTS, *_USUAL_LEASES))
    if not store.rows(read_sql(__file__, "sql/any_signal"), window)[0]["found"]:
        return codes, {}, [], [], []
    step = max(1_000_000_000, (window["to_ns"] - window["from_ns"]) // LEVEL_STEPS)
    asked = {"origin_ns": origin_ns, "step_ns": step, "signals": list(SIGNALS)}
    return (
        codes,
        store.columns(read_sql(__file__, "sql/levels"), {**window, **asked}),
        _of(window["models"], store.rows(_signals_sql("increases"), {**window, "signals": list(COUNTERS)})),
        _of(window["models"], store.rows(_signals_sql("histograms"), {**window, "metrics": []})),
        store.rows(read_sql(__file__, "sql/told_of_hand_offs"), window),
    )


def _of(models: Sequence[str], rows: Rows) -> Rows:
    """Those of some models, and those that name none."""
    return [row for row in rows if not models or row["model"] in ("", *models)]


def _last_transfers(row: Mapping[str, Any]) -> LastTransfers:
    return LastTransfers(row["metric"], row["unit"], row["points"], row["mean"], row["high"])


def sharing_workers(store: Columns, scope: Scope) -> list[str]:
    """The model asked for and those whose requests went through its workers; empty where none is asked."""
    if not scope.model:
        return []
    asked = {"from_ns": scope.from_ns, "to_ns": scope.to_ns, "model": scope.model}
    found = store.rows(read_sql(__file__, "sql/sharing"), asked)[0]["models"]
    return sorted({scope.model, *found})


def context_from(store: Columns, scope: Scope, models: Sequence[str]) -> int:
    """From when on requests of some models (all, if none is named) before a window are read (Unix ns)."""
    since = max(0, scope.from_ns - CONTEXT_NS)
    asked = {"since_ns": since, "from_ns": scope.from_ns, "models": list(models)}
    requests, lasted = 0, 0.0
    for minute in store.rows(read_sql(__file__, "sql/context"), asked):
        requests, lasted = requests + minute["requests"], max(lasted, minute["lasted"])
        began = int(minute["minute"]) * 1_000_000_000
        if requests >= CONTEXT_REQUESTS and scope.from_ns - began >= CONTEXT_LIVES * lasted * 1e9:
            return max(since, began)
    return since


def _signals_sql(name: str) -> str:
    import analyzer.signals

    return read_sql(analyzer.signals.__file__, f"sql/{name}")


def _only(scope: Scope) -> dict[str, Any]:
    return {
        "inside_from_ns": scope.from_ns,
        **{f"only_{name}": getattr(scope, name) for name in _ONLY},
    }


_ONLY = ("model", "tenant", "route", "cohort", "worker", "pool")
"""What marks a request as asked for, of those that are read."""
_PARTS = (
    "",
    "bootstrap",
    "transferring",
    "prealloc",
    "prealloc_ready",
    "transfer",
    "deferred",
    "capacity",
)
_USUAL_LEASES = {adapter.name: adapter.kv_lease_s for adapter in ADAPTERS if adapter.kv_lease_s is not None}


def _codes_of(store: Columns, names: Sequence[str]) -> dict[str, int]:
    found = store.columns(
        "SELECT cityHash64(arrayJoin({names:Array(String)})) AS code", {"names": list(names)}
    )
    return dict(zip(names, (int(code) for code in found["code"]), strict=True))


class _Empty(dict[str, Any]):
    """Columns of an answer without rows, which Native sends without any header."""

    def __missing__(self, name: str) -> Any:
        return np.zeros(0, np.uint64)


_UNSEEN_NS = -(2.0**63)
"""Stands for an instant that is not known where integers are stored."""


def _seconds(stored: np.ndarray, width: int) -> np.ndarray:
    """(rows, width) seconds of what is stored in nanoseconds; nan where it is not known."""
    if stored.ndim < 2 or not stored.shape[1]:
        return np.full((len(stored), width), np.nan)
    return np.where(stored == _UNSEEN_NS, np.nan, stored / 1e9)


def _requests(raw: Raw, origin_ns: int, objectives: Objectives) -> Requests:
    raw = raw or _Empty()
    start = (raw["started_ns"] - origin_ns) / 1e9
    limits = np.array([[item.ttft, item.tpot] for item in objectives.items])
    at = raw["objective"].astype(np.intp)
    given: dict[str, Any] = {
        "key": np.column_stack([raw["key_a"], raw["key_b"]]).astype(np.uint64),
        "start": start,
        "ttft_limit": limits[at, 0],
        "tpot_limit": limits[at, 1],
        "exposed": _seconds(raw["exposed_ns"], len(TTFT_PARTS)),
        "exposed_decode": _seconds(raw["exposed_decode_ns"], len(DECODE_PARTS)),
        "lasted_by_phase": _seconds(raw["phase_ns"], len(Phase)),
        "phase_from": _seconds(raw["phase_from_ns"], len(Phase)) + start[:, None],
        "phase_until": _seconds(raw["phase_until_ns"], len(Phase)) + start[:, None],
    }
    flags = ("inside", "answered", "censored", "appended", "joined_by_id", "masked", "impossible")
    given |= {name: raw[name].astype(bool) for name in flags}
    return Requests(**{name: given[name] if name in given else raw[name] for name in table_fields(Requests)})


_INSTANTS = {
    "at": "at_ns",
    "published": "published_ns",
    "lease_end": "lease_ns",
    "asked": "asked_ns",
    "moved": "moved_ns",
    "import_start": "import_start_ns",
    "imported": "imported_ns",
    "reserved": "reserved_ns",
    "reserved_until": "reserved_until_ns",
    "freed": "freed_ns",
    "expired": "expired_ns",
    "given_back": "given_back_ns",
}


def _transfers(raw: Raw, requests: Requests, origin_ns: int) -> Transfers:
    raw = raw or _Empty()
    given: dict[str, Any] = {
        name: np.where(raw[column] > 0, (raw[column] - origin_ns) / 1e9, np.nan)
        for name, column in _INSTANTS.items()
    }
    given["request"] = positions(
        requests.key, np.column_stack([raw["key_a"], raw["key_b"]]).astype(np.uint64)
    )
    found = Transfers(
        **{name: given[name] if name in given else raw[name] for name in table_fields(Transfers)}
    )
    kept: Transfers = take(found, np.flatnonzero(found.request >= 0))
    return kept


def take(table: Any, rows: np.ndarray) -> Any:
    """Return some rows of a table."""
    return type(table)(**{name: getattr(table, name)[rows] for name in table_fields(type(table))})


def positions(keys: Codes, wanted: Codes) -> np.ndarray:
    """Row of `keys` (rows, 2) that equals each row of `wanted`; -1 when there is none."""
    if not len(keys) or not len(wanted):
        return np.full(len(wanted), -1, np.intp)
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    a, b = keys[order, 0], keys[order, 1]
    at = np.searchsorted(a, wanted[:, 0])
    out = np.full(len(wanted), -1, np.intp)
    # keys are random: rows that share the first half are rare and looked at one by one
    for _ in range(4):
        inside = np.minimum(at, len(a) - 1)
        hit = (a[inside] == wanted[:, 0]) & (b[inside] == wanted[:, 1]) & (out < 0)
        out[hit] = order[inside[hit]]
        at = at + 1
    return out


def _workers(store: Columns, window: Mapping[str, Any], origin_ns: int) -> dict[int, Worker]:
    named = store.columns(read_sql(__file__, "sql/names"), window)
    processes = store.columns(read_sql(__file__, "sql/workers"))
    out: dict[int, Worker] = {}
    for number in range(len(named.get("name", ()))):
        role = "colocated" if named["prefills"][number] and named["decodes"][number] else ""
        role = role or ("prefill" if named["prefills"][number] else "decode")
        out[int(named["code"][number])] = Worker(str(named["name"][number]), role, "", 0.0, (), (), {})
    for number in range(len(processes.get("worker", ()))):
        _add_process(out, {name: values[number] for name, values in processes.items()}, origin_ns)
    return out


def _add_process(out: dict[int, Worker], row: Mapping[str, Any], origin_ns: int) -> None:
    """Several resources of one name are one worker that was started, or changed, several times."""
    code = int(row["code"])
    before = out.get(code, Worker(row["worker"], row["role"], "", 0.0, (), (), {}))
    start = _instant(row["created"], origin_ns)
    agreed = dict(line.split("=", 1) for line in row["agreed"].split("\n") if "=" in line)
    out[code] = Worker(
        before.name,
        row["role"] or before.role,
        row["host"] or before.host,
        max(before.gpus, float(row["gpus"])),
        tuple(sorted({*before.starts, *([] if start is None else [start])})),
        tuple(sorted({*before.versions, *([row["version"]] if row["version"] else [])})),
        {**before.agreed, **agreed},
    )


def _nesting(store: Columns, window: Mapping[str, Any]) -> tuple[int, int]:
    row = store.rows(read_sql(__file__, "sql/nesting"), window)[0]
    return int(row["children"]), int(row["outside"])


def _codes(requests: Requests) -> set[int]:
    return {*np.unique(requests.prefill_worker).tolist(), *np.unique(requests.decode_worker).tolist()}


def _superseded(store: Columns, window: Mapping[str, Any], requests: Requests, origin_ns: int) -> Raw:
    if not (requests.attempts > 1).any():
        return {"worker": np.zeros(0, np.uint64), "since": np.zeros(0), "until": np.zeros(0)}
    raw = store.columns(read_sql(__file__, "sql/superseded"), window) or _Empty()
    instants = {name: (raw[f"{name}_ns"] - origin_ns) / 1e9 for name in ("since", "until")}
    return {"worker": raw["worker"], **instants}


def _sources(store: Columns, window: Mapping[str, Any]) -> dict[tuple[int, str], str]:
    rows = store.rows(read_sql(__file__, "sql/sources"), window)
    return {(int(row["system"]), str(row["phase"])): str(row["source"]) for row in rows}


def _clocks(rows: Rows, served: set[int], workers: Mapping[int, Worker]) -> list[ClockOffset]:
    known = {worker.name for code, worker in workers.items() if code in served}
    return [
        ClockOffset(**{**row, "contradictory": bool(row["contradictory"])})
        for row in rows
        if row["worker"] in known
    ]


def _instant(text: str, origin_ns: int) -> float | None:
    """Seconds from origin of an ISO 8601 instant; None when it is none."""
    try:
        whole, _, decimals = text.rstrip("Z").partition(".")
        seconds = datetime.fromisoformat(whole + "+00:00").timestamp()
        return seconds + float(f"0.{decimals or 0}") - origin_ns / 1e9
    except ValueError:
        return None
