"""Causes of misses as counted by minutes: lists and charts need no diagnosis of their own for them.

Counted causes are those of the objectives in `slo.yaml` and of whole blocks of five minutes; what an override
asks for, and what has not been counted yet, is diagnosed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from analyzer.api.parameters import Question
from analyzer.api.request_rows import Row
from analyzer.minutes.due import BLOCK_S
from analyzer.slo.rows import Rows
from analyzer.slo.scope import Scope
from analyzer.verdict.desk import FRESH_S, Desk
from analyzer.verdict.over_time import causes_by_step
from analyzer.verdict.request_verdict import shares_of
from collector.sql import read_sql

MAX_BLOCKS = 3
"""Blocks that are diagnosed one by one; when more are not counted, the whole window is."""
_BLOCK_NS = BLOCK_S * 1_000_000_000

Shares = Mapping[str, float]


def causes_of(store: Rows, desk: Desk, asked: Question, rows: Sequence[Row]) -> Mapping[str, Shares]:
    """Shares of causes by key of the rows, all of which missed."""
    if not rows:
        return {}
    found: dict[str, Shares] = {}
    starts = [int(row["started_ns"]) for row in rows]
    if _as_counted(store, asked, min(starts), max(starts)):
        keys = {"keys": [row["key"] for row in rows], "buckets": sorted({int(row["bucket"]) for row in rows})}
        counted = store.rows(read_sql(__file__, "kept_causes"), keys)
        found = {row["key"]: {c: round(s, 4) for c, s in row["causes"].items()} for row in counted}
    left = [row for row in rows if row["key"] not in found]
    blocks = {int(row["started_ns"]) // _BLOCK_NS for row in left}
    scopes = [_block(number) for number in blocks] if len(blocks) <= MAX_BLOCKS else [asked.scope]
    for scope in scopes:
        diagnosis = desk.ask(scope, asked.objectives, FRESH_S).diagnosis
        shares = {row["key"]: shares_of(diagnosis, row["key"]) for row in left}
        found |= {key: value for key, value in shares.items() if value is not None}
    return found


def causes_over_time(store: Rows, desk: Desk, asked: Question, step_s: int) -> dict[int, Counter[str]]:
    """Misses by primary cause, by the start (Unix nanoseconds) of the step in which they started."""
    if not _as_counted(store, asked, asked.scope.from_ns, asked.scope.to_ns):
        return causes_by_step(desk.ask(asked.scope, asked.objectives, FRESH_S).diagnosis, step_s)
    step_ns = step_s * 1_000_000_000
    params: dict[str, Any] = {**asked.scope.params(), **asked.objectives.params()}
    params |= {"step_ns": step_ns, "block_ns": _BLOCK_NS}
    rows = store.rows(read_sql(__file__, "kept_causes_by_step"), params)
    uncounted = {int(row["block"]) for row in rows if not row["cause"]}
    if len(uncounted) > MAX_BLOCKS:
        return causes_by_step(desk.ask(asked.scope, asked.objectives, FRESH_S).diagnosis, step_s)
    out: dict[int, Counter[str]] = {}
    for row in rows:
        if row["block"] not in uncounted:
            out.setdefault(int(row["step"]) * step_ns, Counter())[row["cause"]] += int(row["misses"])
    for number in uncounted:
        block = _block(number)
        scope = replace(
            asked.scope,
            from_ns=max(block.from_ns, asked.scope.from_ns),
            to_ns=min(block.to_ns, asked.scope.to_ns),
        )
        diagnosis = desk.ask(scope, asked.objectives, FRESH_S).diagnosis
        for at, counts in causes_by_step(diagnosis, step_s).items():
            out.setdefault(at, Counter()).update(counts)
    return out


def _as_counted(store: Rows, asked: Question, from_ns: int, to_ns: int) -> bool:
    """Whether what is asked for is what the minutes of this stretch were counted by."""
    items = asked.objectives.items
    if any(item.source == "override" for item in items):
        return False
    params = {"from_s": _second(from_ns), "to_s": _second(to_ns), "tenant": asked.scope.tenant}
    counted = _limits(store.rows(read_sql(__file__, "counted_objectives"), params))
    return counted <= {(item.name, item.ttft, item.tpot) for item in items}


def _limits(rows: Iterable[Mapping[str, Any]]) -> set[tuple[str, float, float]]:
    return {(row["objective"], row["ttft"], row["tpot"]) for row in rows}


def _second(ns: int) -> int:
    return min(max(ns // 60_000_000_000 * 60, 0), 2**32 - 1)


def _block(number: int) -> Scope:
    return Scope(number * _BLOCK_NS, (number + 1) * _BLOCK_NS)
