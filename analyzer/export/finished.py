"""Counters of requests by objective and result; each request counts once, when it is finished."""

from dataclasses import replace

from prometheus_client import CollectorRegistry, Counter

from analyzer.export.bounded import Bounded
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import EVERYTHING
from collector.sql import read_sql
from collector.store import Store

RESULTS = ("met", "missed", "cancelled", "invalid")


class FinishedRequests:
    """Counts what was finished since the process started: a restart neither repeats nor loses a request.

    A request that late spans change after it was counted is not counted again.
    """

    def __init__(self, store: Store, registry: CollectorRegistry, after: int):
        """after: the ingest sequence that was taken into account when the process started."""
        self._store = store
        self._after = after
        self._model = Bounded()
        self._requests = Counter(
            "pdscope_slo_requests",
            "Finished requests by objective: met and missed are evaluated.",
            ["slo", "model", "result"],
            registry=registry,
        )
        self._ttft = Counter(
            "pdscope_slo_ttft_misses",
            "Evaluated requests that missed TTFT.",
            ["slo", "model"],
            registry=registry,
        )
        self._tpot = Counter(
            "pdscope_slo_tpot_misses",
            "Evaluated requests that missed TPOT.",
            ["slo", "model"],
            registry=registry,
        )

    def count(self, objectives: Objectives, upto: int) -> None:
        """Count what was finished up to an ingest sequence. Raises StoreError; nothing is counted then."""
        if upto <= self._after:
            return
        span = {"after": self._after, "upto": upto}
        found = self._store.rows(read_sql(__file__, "sql/finished_span"), span)[0]
        if found["requests"]:
            scope = replace(EVERYTHING, from_ns=found["first_ns"], to_ns=found["last_ns"] + 1)
            window = {"from_ns": scope.from_ns, "to_ns": scope.to_ns}
            rows = self._store.rows(
                read_sql(__file__, "sql/finished"), {**span, **window, **objectives.params()}
            )
            missed = [row["a_miss"] for row in rows if row["missed"]]
            traces = self._store.rows(read_sql(__file__, "sql/traces_of"), {"keys": missed, **window})
            trace_of = {row["key"]: row["trace"] for row in traces}
            for row in rows:
                self._add(objectives.items[row["objective"] - 1].name, row, trace_of.get(row["a_miss"]))
        self._after = upto

    def _add(self, slo: str, row: dict[str, int | str], trace: str | None) -> None:
        model = self._model(str(row["model"]))
        example = {"trace_id": trace} if trace and row["missed"] else None
        for result in RESULTS:
            shown = example if result == "missed" else None
            self._requests.labels(slo, model, result).inc(int(row[result]), shown if row[result] else None)
        self._ttft.labels(slo, model).inc(int(row["missed_ttft"]), example if row["missed_ttft"] else None)
        self._tpot.labels(slo, model).inc(int(row["missed_tpot"]), example if row["missed_tpot"] else None)
