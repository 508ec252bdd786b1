"""One observed cohort, ready to be questioned: its diagnosis, its workers, and what its requests carry."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.verdict.diagnosis import Diagnosis
from analyzer.verdict.groups import members_by
from analyzer.verdict.load import Columns, positions
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Account, Flags, Floats, Index, Worker
from collector.sql import read_sql

Ask = Callable[[Scope, Objectives], Diagnosis]


@dataclass(frozen=True)
class Cohort:
    """Requests of one cohort that started in a window."""

    name: str
    store: Columns
    scope: Scope
    found: Diagnosis
    carried: dict[str, Any]
    """Counts of requests that carry an identity, a deadline, a route receipt and so on (carried.sql)."""

    @property
    def situation(self) -> Situation:
        """Everything known about the window."""
        return self.found.situation

    @cached_property
    def evaluated(self) -> Flags:
        """Rows of requests that count: met or missed."""
        r = self.situation.requests
        found: Flags = r.inside & np.isin(r.account, (Account.MET, Account.MISSED))
        return found

    @cached_property
    def itl_p99(self) -> Floats:
        """Per request the 99th percentile of its gaps between tokens, seconds; nan where nobody saw them."""
        keys = self.situation.requests.key
        out = np.full(len(keys), np.nan)
        raw = self.store.columns(read_sql(__file__, "sql/gaps"), self.scope.params())
        if raw:
            rows = positions(keys, np.column_stack([raw["key_a"], raw["key_b"]]).astype(np.uint64))
            out[rows[rows >= 0]] = raw["itl_p99"][rows >= 0]
        return out

    @cached_property
    def hand_offs(self) -> Index:
        """Rows of the cohort's KV hand-offs."""
        s = self.situation
        return np.flatnonzero(s.requests.inside[s.transfers.request])

    def workers(self, leg: str) -> list[Worker]:
        """Workers that served it: `leg` is prefill, decode or any."""
        s, r = self.situation, self.situation.requests
        legs = {"prefill": [r.prefill_worker], "decode": [r.decode_worker]}.get(
            leg, [r.prefill_worker, r.decode_worker]
        )
        codes = sorted({int(code) for column in legs for code in np.unique(column[r.inside])} - {0})
        return [s.loaded.workers[code] for code in codes if code in s.loaded.workers]

    def members(self, by: str) -> dict[str | None, Index]:
        """Rows of the evaluated requests, by the value of a label."""
        found = members_by(self.store, self.found, by)
        kept = {key: rows[self.evaluated[rows]] for key, rows in found.items()}
        return {key: rows for key, rows in kept.items() if len(rows)}

    @cached_property
    def gpus(self) -> float | None:
        """Accelerators of its workers; None when one does not say."""
        each = [worker.gpus for worker in self.workers("any")]
        return sum(each) if each and all(each) else None

    @property
    def requests_per_s(self) -> float | None:
        """Offered rate between the first and the last request; None for fewer than two."""
        start = np.sort(self.situation.requests.start[self.situation.requests.inside])
        return (
            (len(start) - 1) / float(start[-1] - start[0])
            if len(start) > 1 and start[-1] > start[0]
            else None
        )

    @cached_property
    def layout(self) -> str | None:
        """The layout as receipts name it: `2P+2D`, or `4x` (any chunk) colocated; None without workers."""
        prefill = {worker.name for worker in self.workers("prefill")}
        decode = {worker.name for worker in self.workers("decode")}
        if not decode:
            return None
        if not prefill or prefill == decode:
            return f"{len(decode)}x"
        return f"{len(prefill)}P+{len(decode)}D"


def read_cohort(store: Columns, ask: Ask, scope: Scope, objectives: Objectives, name: str) -> Cohort:
    """Read one cohort of a scope. Raises StoreError."""
    own = replace(scope, cohort=name)
    carried = store.rows(read_sql(__file__, "sql/carried"), own.params())
    return Cohort(name, store, own, ask(own, objectives), carried[0] if carried else {})
