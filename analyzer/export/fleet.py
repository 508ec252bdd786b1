"""Gauges of the last minutes: causes, pools, KV hand-offs. Read from the store as one snapshot."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from analyzer.export.bounded import MAX_SERIES, Bounded
from collector.sql import read_sql
from collector.store import Store

CAUSES_S = 600
"""Causes are of requests that started in this many seconds before now."""
SIGNALS_S = 120
"""A pool signal older than this is no longer shown."""
HAND_OFFS_S = 3600
"""Hand-offs that began in this many seconds are looked at for orphans."""
RECENT_S = 600
"""Hand-offs are counted by how they ended over this many seconds."""

SIGNALS = {
    "queue_depth": ("pdscope_pool_queue_requests", "Requests waiting in a pool."),
    "running": ("pdscope_pool_running_requests", "Requests being worked on in a pool."),
    "kv_used_fraction": ("pdscope_pool_kv_used_ratio", "Used part of the KV cache, mean over workers."),
    "generation_tokens_total": ("pdscope_pool_generated_tokens_per_second", "Tokens a pool generates."),
    "prompt_tokens_total": ("pdscope_pool_prompt_tokens_per_second", "Prompt tokens a pool takes in."),
    "transfer_failures_total": (
        "pdscope_pool_transfer_failures_per_second",
        "KV transfers that engines report as failed.",
    ),
    "requests_in_flight": ("pdscope_requests_in_flight", "Requests that have started and not ended."),
    "oldest_request_age": ("pdscope_oldest_request_age_seconds", "Age of the oldest request under way."),
}

_HAND_OFFS = {
    "orphans": ("pdscope_kv_orphans", "Orphaned KV still held, hand-offs."),
    "orphaned_bytes": ("pdscope_kv_orphaned_bytes", "Orphaned KV still held."),
    "begun": ("pdscope_kv_handoffs_recent", "Hand-offs that began in the last 10 minutes."),
    "failed": ("pdscope_kv_handoffs_failed_recent", "Those of them that failed."),
    "expired": ("pdscope_kv_handoffs_expired_recent", "Those of them whose lease ended unread."),
    "late_reads": ("pdscope_kv_late_reads_recent", "Those of them read after their lease had ended."),
}


@dataclass(frozen=True)
class Snapshot:
    """Families ready to be scraped, and when (Unix seconds) they were read."""

    families: tuple[GaugeMetricFamily, ...]
    at: float


class Fleet(Collector):
    """Shows the newest snapshot; `refresh` reads another."""

    def __init__(self, store: Store):
        self._store = store
        self._model = Bounded()
        self._snapshot = Snapshot((), 0.0)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Families of the newest snapshot."""
        yield from self._snapshot.families

    def refresh(self, now: float | None = None) -> None:
        """Read the store as of `now` (Unix seconds). Raises StoreError; the old snapshot stays then."""
        at = time.time() if now is None else now
        families = [*self._causes(at), *self._pools(at), *self._hand_offs(at)]
        self._snapshot = Snapshot(tuple(families), at)

    def _causes(self, at: float) -> list[GaugeMetricFamily]:
        window = {"since": int(at) - CAUSES_S, "until": int(at)}
        by_cause: dict[tuple[str, ...], float] = defaultdict(float)
        evaluated: dict[tuple[str, ...], float] = defaultdict(float)
        for row in self._store.rows(read_sql(__file__, "sql/causes"), window):
            by_cause[row["objective"], self._model(row["model"]), row["cause"]] += row["missed"]
        for row in self._store.rows(read_sql(__file__, "sql/evaluated"), window):
            evaluated[row["objective"], self._model(row["model"])] += row["evaluated"]
        return [
            _family(
                "pdscope_missed_requests_by_cause",
                "Requests of the last 10 minutes that missed, by cause.",
                ("slo", "model", "cause"),
                by_cause,
            ),
            _family(
                "pdscope_evaluated_requests",
                "Requests of the last 10 minutes that met or missed.",
                ("slo", "model"),
                evaluated,
            ),
        ]

    def _pools(self, at: float) -> Iterable[GaugeMetricFamily]:
        to_ns = int(at * 1e9)
        asked = {"from_ns": to_ns - SIGNALS_S * 10**9, "to_ns": to_ns, "wanted": list(SIGNALS)}
        rows = self._store.rows(read_sql(__file__, "sql/pools"), asked)
        for signal, (name, text) in SIGNALS.items():
            values: dict[tuple[str, ...], float] = {
                (row["pool"], self._model(row["model"])): row["value"]
                for row in rows
                if row["signal"] == signal
            }
            yield _family(name, text, ("pool", "model"), values)

    def _hand_offs(self, at: float) -> Iterable[GaugeMetricFamily]:
        to_ns = int(at * 1e9)
        asked = {
            "from_ns": to_ns - HAND_OFFS_S * 10**9,
            "to_ns": to_ns,
            "recent_ns": to_ns - RECENT_S * 10**9,
        }
        rows: list[dict[str, Any]] = self._store.rows(read_sql(__file__, "sql/hand_offs"), asked)
        for column, (name, text) in _HAND_OFFS.items():
            yield _family(name, text, ("pool",), {(row["side"],): row[column] for row in rows})


def _family(
    name: str, text: str, labels: tuple[str, ...], values: Mapping[tuple[str, ...], float]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in sorted(values.items(), key=lambda item: -item[1])[:MAX_SERIES]:
        family.add_metric(key, value)
    return family
