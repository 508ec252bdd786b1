"""Causes of requests in lists and on their own page, out of the diagnosis of a window around them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from analyzer.api.parameters import Question
from analyzer.api.request_rows import FIRST, Filter, Page, Row, facts, read_cursor, write_cursor
from analyzer.slo.objectives import Objectives
from analyzer.slo.rows import Rows
from analyzer.slo.scope import EVERYTHING, Scope
from analyzer.verdict.desk import FRESH_S, Desk
from analyzer.verdict.diagnosis import Diagnosis
from analyzer.verdict.orphan_answer import key_text
from analyzer.verdict.request_verdict import RequestVerdict, clocks_of, keys_with, shares_of, verdict_of
from analyzer.verdict.tables import ClockOffset, Outcome
from analyzer.verdict.vocabulary import Cause
from collector.sql import read_sql

NEAR_NS, AROUND_NS = 300 * 1_000_000_000, 900 * 1_000_000_000
"""One request is judged by a window that reaches so far to both sides of its start: 5 minutes, or 15
where fewer than `ENOUGH` requests lie in those.
"""
ENOUGH = 1_000
"""Requests of a model that baselines and pools are known well from."""


def causes(found: Diagnosis, rows: Sequence[Row]) -> Mapping[str, Mapping[str, float]]:
    """Shares of causes by key, for those of the rows that missed."""
    shares = {row["key"]: shares_of(found, row["key"]) for row in rows if row["met"] == 0}
    return {key: value for key, value in shares.items() if value is not None}


def verdict(
    store: Rows, desk: Desk, objectives: Objectives, row: Row
) -> tuple[RequestVerdict | None, list[ClockOffset]]:
    """Judge one request among those around it; with what was subtracted from its workers' stamps."""
    scope = _around(row, NEAR_NS)
    near = {"from_ns": scope.from_ns, "to_ns": scope.to_ns, "model": scope.model}
    if store.rows(read_sql(__file__, "requests_near"), near)[0]["requests"] < ENOUGH:
        scope = _around(row, AROUND_NS)
    found = desk.ask(scope, objectives, FRESH_S).diagnosis
    return (verdict_of(found, row["key"]) if row["met"] is not None else None), clocks_of(found, row)


def _around(row: Row, reach_ns: int) -> Scope:
    """Neighbours share a window, and with it an answer."""
    middle = int(row["started_ns"]) // (reach_ns // 3) * (reach_ns // 3)
    return Scope(max(0, middle - reach_ns), middle + reach_ns, model=row["model"])


def page(
    store: Rows, found: Diagnosis, asked: Question, filter_: Filter, cursor: str | None, limit: int
) -> Page:
    """Read up to `limit` requests with one primary cause.

    Raises BadParameter for a cursor not of this order.
    """
    r = found.situation.requests
    rows = keys_with(found, Cause(filter_.cause)) if filter_.account != "met" else np.zeros(0, np.intp)
    if filter_.outcome:
        rows = rows[r.outcome[rows] == Outcome[filter_.outcome.upper()]]
    starts = np.round(r.start[rows] * 1e9).astype(np.int64) + found.situation.loaded.origin_ns
    ttft = np.where(np.isfinite(r.ttft[rows]), np.round(r.ttft[rows] * 1e9), -1).astype(np.int64)
    place = ttft if filter_.order == "slowest" else starts
    keys = np.array([key_text(found.situation, int(row)) for row in rows], dtype=object)
    after = read_cursor(cursor, filter_.order) if cursor else FIRST
    order = np.lexsort((keys.astype(str), place))[::-1] if len(rows) else np.zeros(0, np.intp)
    left = [n for n in order.tolist() if (int(place[n]), str(keys[n])) < after]
    shown = left[:limit]
    more = (
        write_cursor(filter_.order, int(place[shown[-1]]), str(keys[shown[-1]]))
        if len(left) > limit
        else None
    )
    return Page(
        _judged(store, asked, [(str(keys[n]), int(r.first_bucket[rows[n]])) for n in shown]), more, len(rows)
    )


def _judged(store: Rows, asked: Question, wanted: Sequence[tuple[str, int]]) -> list[Row]:
    """Rows of the wanted (key, first bucket) pairs, in their order."""
    if not wanted:
        return []
    params: dict[str, Any] = {**EVERYTHING.params(), **asked.objectives.params()}
    params |= {"keys": [key for key, _ in wanted], "buckets": sorted({bucket for _, bucket in wanted})}
    rows = {
        row["key"]: row for row in facts(store, store.rows(read_sql(__file__, "requests_judged"), params))
    }
    return [rows[key] for key, _ in wanted if key in rows]
