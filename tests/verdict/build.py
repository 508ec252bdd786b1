"""Builds windows by hand for tests of rules: requests from phases, hand-offs, gauges. Times in seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from analyzer.slo.objectives import Objective, Objectives
from analyzer.slo.scope import Scope
from analyzer.timeline import Interval, exposed
from analyzer.verdict.attribution import CAUSES, Attribution, attribute
from analyzer.verdict.load import Loaded
from analyzer.verdict.readings import ROLES, SIGNALS, Readings
from analyzer.verdict.situation import Situation, prepare
from analyzer.verdict.tables import (
    Account,
    Outcome,
    Requests,
    Transfers,
    Transport,
    Worker,
    table_fields,
)
from collector.phases import TTFT_PARTS, Phase

NAN = float("nan")
PHASES = [str(phase) for phase in Phase]
ORDER = (
    "router_queue",
    "tokenize",
    "prefill_queue",
    "prefill_compute",
    "kv_publish",
    "kv_transfer",
    "decode_queue",
    "kv_import",
    "first_decode_step",
    "network_streaming",
)
"""Phases of a request that follow each other, as `durations` takes them."""


@dataclass
class World:
    """Everything of one window; `ttft` and `tpot` are the objective."""

    ttft: float = 1.0
    tpot: float = 0.05
    seconds: float = 600.0
    rows: list[dict[str, Any]] = field(default_factory=list)
    hand_offs: list[dict[str, Any]] = field(default_factory=list)
    points: list[tuple[str, str, str, float, float]] = field(default_factory=list)
    processes: dict[str, Worker] = field(default_factory=dict)
    increases: list[Any] = field(default_factory=list)
    histograms: list[Any] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)
    superseded: list[tuple[str, float, float]] = field(default_factory=list)
    clocks: list[Any] = field(default_factory=list)
    silent: list[Any] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    """How timelines know each phase."""
    nesting: tuple[int, int] = (0, 0)
    usual_lease: dict[int, float] = field(default_factory=dict)
    last_transfers: list[Any] = field(default_factory=list)

    def code(self, name: str) -> int:
        """Number that stands for a name; 0 for none."""
        return self.codes.setdefault(name, len(self.codes) + 1) if name else 0

    def request(
        self,
        start: float,
        durations: Mapping[str, float] | None = None,
        spans: Mapping[str, tuple[float, float]] | None = None,
        **given: Any,
    ) -> int:
        """Add a request; phases follow each other (`durations`, pull order) or lie where `spans` says (from
        its start). `tpot`, `output` say how it decodes. Returns its row.
        """
        placed: dict[str, tuple[float, float]] = {}
        at = 0.0
        for phase in ORDER:
            if durations and phase in durations:
                placed[phase] = (at, at + durations[phase])
                at += durations[phase]
        placed |= dict(spans or {})
        ends = [until for _, until in placed.values()]
        first = given.pop("first_token", max(ends, default=0.0))
        tpot, output = given.pop("tpot", 0.02), given.pop("output", 100)
        answered = given.get("outcome", Outcome.OK) == Outcome.OK
        if answered and "decode" not in placed and tpot is not None:
            placed["decode"] = (first, first + tpot * (output - 1))
        lasted = given.pop("lasted", max([until for _, until in placed.values()], default=first))
        row = self._row(start, placed, first if answered else None, lasted, tpot, output, answered)
        unknown = set(given) - set(row)
        assert not unknown, unknown
        for name in ("prefill_worker", "decode_worker", "request_id", "conversation", "tenant", "model"):
            if name in given:
                given[name] = self.code(given[name])
        self.rows.append(row | given)
        return len(self.rows) - 1

    def _row(self, start, placed, first, lasted, tpot, output, answered) -> dict[str, Any]:  # type: ignore[no-untyped-def]
        end = first if first is not None else lasted
        intervals = [
            Interval(round((start + a) * 1e9), round((start + b) * 1e9), Phase(name))
            for name, (a, b) in placed.items()
        ]
        parts = exposed(intervals, round(start * 1e9), round((start + end) * 1e9))
        meets = answered and end <= self.ttft and (tpot is None or tpot <= self.tpot)
        spot = [[start + placed[p][k] if p in placed else NAN for p in PHASES] for k in (0, 1)]
        return {
            "key": [len(self.rows) + 1, 7],
            "first_bucket": 0,
            "objective": 0,
            "inside": True,
            "start": start,
            "lasted": lasted,
            "account": Account.MET if meets else Account.MISSED,
            "outcome": Outcome.OK,
            "answered": answered,
            "censored": first is None,
            "attempts": 1,
            "ttft": end,
            "tpot": NAN if tpot is None else tpot,
            "ttft_uncertainty": 0.0,
            "ttft_limit": self.ttft,
            "tpot_limit": self.tpot,
            "exposed": [parts[part] / 1e9 for part in TTFT_PARTS],
            "exposed_decode": [0 if tpot is None else tpot * (output - 1), 0, 0, 0, 0, 0],
            "lasted_by_phase": [placed[p][1] - placed[p][0] if p in placed else 0.0 for p in PHASES],
            "phase_from": spot[0],
            "phase_until": spot[1],
            "preempted": 0.0,
            "stalled": NAN,
            "composite": 0.0,
            "within": 0,
            "prefill_worker": self.code("prefill-0"),
            "decode_worker": self.code("decode-0"),
            "request_id": len(self.rows) + 1000,
            "conversation": 0,
            "tenant": 1,
            "route": 1,
            "cohort": 1,
            "model": 1,
            "system": 1,
            "input_tokens": 1000.0,
            "output_tokens": float(output),
            "cached_tokens": 0.0,
            "local_prompt_tokens": 0.0,
            "appended": False,
            "spans": 9,
            "duplicate_spans": 0,
            "late_spans": 0,
            "joined_by_id": False,
            "masked": False,
            "impossible": False,
        }

    def hand_off(self, request: int, **given: Any) -> int:
        """Add the KV hand-off of a request: instants in seconds of the window. Returns its row."""
        row = dict.fromkeys(table_fields(Transfers), NAN) | {
            "request": request,
            "transfer_id": len(self.hand_offs) + 1,
            "freed_why": 0,
            "given_back_why": 0,
            "duplicate_releases": 0,
            "status": 0,
            "transport": Transport.RDMA,
            "connector": 1,
            "attempt": 1,
            "producer": "prefill-0",
            "consumer": "decode-0",
            "bytes": 1e8,
            "tokens": 1000.0,
        }
        unknown = set(given) - set(row)
        assert not unknown, unknown
        row |= given
        row["at"] = float(np.nanmin([row["published"], row["asked"], row["reserved"], 1e18]))
        row |= {side: self.code(row[side]) for side in ("producer", "consumer")}
        self.hand_offs.append(row)
        return len(self.hand_offs) - 1

    def gauge(self, signal: str, worker: str, points: Sequence[tuple[float, float]], part: str = "") -> None:
        """Add readings (seconds, value) of a worker; they name the pool that `worker` gave it."""
        self.points += [(signal, worker, part, at, value) for at, value in points]

    def steady(self, signal: str, worker: str, value: float, part: str = "") -> None:
        """Add a gauge that reads the same all through the window."""
        self.gauge(
            signal, worker, [(float(at), value) for at in range(0, int(self.seconds) + 1, 10)], part=part
        )

    def worker(self, name: str, role: str = "", **given: Any) -> None:
        """Describe a process: starts, versions, agreed (pd.compat.*)."""
        given = {"host": "", "gpus": 1.0, "starts": (), "versions": (), "agreed": {}} | given
        self.code(name)
        self.processes[name] = Worker(name=name, role=role, **given)

    def situation(self, horizon: float | None = None) -> Situation:
        """Prepare the window."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return prepare(self.loaded(), self.seconds if horizon is None else horizon)

    def loaded(self) -> Loaded:
        """Everything as it comes out of the store."""
        requests = _table(Requests, self.rows)
        transfers = _table(Transfers, self.hand_offs)
        parts = {part: 100 + n for n, part in enumerate(["", *sorted({p[2] for p in self.points} - {""})])}
        workers = {
            self.code(name): self.processes.get(name, Worker(name, "", "", 1.0, (), (), {}))
            for name in list(self.codes)
        }
        lost = [(self.code(w), a, b) for w, a, b in self.superseded]
        objective = Objective("o", self.ttft, self.tpot)
        return Loaded(
            Scope(0, round(self.seconds * 1e9)),
            Objectives((objective,)),
            0,
            requests,
            transfers,
            workers,
            Readings(self._levels(parts), parts),
            self.increases,
            self.histograms,
            self.clocks,
            self.silent,
            self.nesting,
            {
                "worker": np.array([x[0] for x in lost], np.uint64),
                "since": np.array([x[1] for x in lost], float),
                "until": np.array([x[2] for x in lost], float),
            },
            {(1, phase): source for phase, source in self.sources.items()},
            self.usual_lease,
            self.last_transfers,
        )

    def _levels(self, parts: Mapping[str, int]) -> dict[str, Any]:
        rows = sorted(
            (SIGNALS.index(s), self.code(w), parts[p], at, value, self._pool(w))
            for s, w, p, at, value in self.points
        )
        if not rows:
            return {}
        signal, worker, part, at, value, pool = (np.array(column) for column in zip(*rows, strict=True))
        return {
            "signal": signal.astype(np.uint8),
            "worker": worker.astype(np.uint64),
            "part": part.astype(np.uint64),
            "pool": pool.astype(np.uint8),
            "model": np.ones(len(at), np.uint64),
            "at": at.astype(float),
            "value": value.astype(float),
        }

    def _pool(self, worker: str) -> int:
        return ROLES.index(self.processes[worker].role) if worker in self.processes else 0


_INTEGERS = {
    "key",
    "prefill_worker",
    "decode_worker",
    "request_id",
    "conversation",
    "tenant",
    "route",
    "cohort",
    "model",
    "system",
    "producer",
    "consumer",
    "transfer_id",
    "connector",
}
_SMALL = {
    "objective",
    "account",
    "outcome",
    "attempts",
    "freed_why",
    "given_back_why",
    "status",
    "transport",
    "attempt",
}
_FLAGS = {"inside", "answered", "censored", "appended", "joined_by_id", "masked", "impossible"}
_COUNTS = {"spans", "duplicate_spans", "late_spans", "duplicate_releases", "first_bucket"}
_WIDE = {
    "key": 2,
    "exposed": 12,
    "exposed_decode": 6,
    "lasted_by_phase": 11,
    "phase_from": 11,
    "phase_until": 11,
}


def _table(kind: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
    columns = {}
    for name in table_fields(kind):
        dtype: Any = float
        if name in _INTEGERS:
            dtype = np.uint64
        elif name in _SMALL:
            dtype = np.uint8
        elif name in _FLAGS:
            dtype = bool
        elif name in _COUNTS:
            dtype = np.uint32
        elif name == "request":
            dtype = np.intp
        empty = np.zeros((0, _WIDE[name]) if name in _WIDE else 0, dtype)
        columns[name] = np.array([row[name] for row in rows], dtype) if rows else empty
    return kind(**columns)


def shares(found: Attribution, row: int = 0) -> dict[str, float]:
    """Causes of one missed request."""
    return {str(CAUSES[c]): round(float(found.shares[row, c]), 3) for c in np.flatnonzero(found.shares[row])}


def causes(world: World, horizon: float | None = None) -> dict[str, float]:
    """Share of each cause over the window's misses."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = attribute(world.situation(horizon))
    total = found.shares.mean(axis=0) if len(found.shares) else np.zeros(len(CAUSES))
    return {str(CAUSES[c]): round(float(total[c]), 3) for c in np.flatnonzero(total)}


HEALTHY = {
    "router_queue": 0.005,
    "prefill_queue": 0.02,
    "prefill_compute": 0.3,
    "kv_publish": 0.003,
    "kv_transfer": 0.02,
    "decode_queue": 0.03,
    "kv_import": 0.004,
    "first_decode_step": 0.02,
    "network_streaming": 0.004,
}


def healthy(world: World, many: int = 40, every: float = 5.0, **given: Any) -> None:
    """Add requests that met everything, spread over the window, with their hand-offs."""
    for number in range(many):
        start = number * every
        row = world.request(start, HEALTHY, **given)
        offered = start + sum(
            HEALTHY[p] for p in ("router_queue", "prefill_queue", "prefill_compute", "kv_publish")
        )
        world.hand_off(
            row,
            published=offered,
            asked=offered + 0.03,
            moved=offered + 0.05,
            imported=offered + 0.054,
            freed=offered + 0.054,
            freed_why=1,
            status=1,
        )
