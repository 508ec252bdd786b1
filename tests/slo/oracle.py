"""The convention's Accounting in plain Python: what the view `judged_requests` must equal."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.slo.objectives import Objective, Objectives


def bucket(tokens: int | None) -> str:
    """Name of a prompt length's bucket."""
    if tokens is None:
        return ""
    if tokens < 1024:
        return "0-1K"
    if tokens < 4096:
        return "1-4K"
    return "4-16K" if tokens < 16384 else "16K+"


def objective_of(row: Mapping[str, Any], objectives: Objectives) -> Objective:
    """The first objective whose selector matches."""
    labels = (row["model"], row["route"], row["tenant"], bucket(row["input_tokens"]))
    return next(item for item in objectives.items if item.selector.matches(*labels))


def account_of(row: Mapping[str, Any], objective: Objective) -> str:
    """met, missed, cancelled, invalid or incomplete."""
    outcome = row["outcome"]
    if outcome in ("cancelled", "invalid"):
        return str(outcome)
    if outcome in ("interrupted", "timeout", "error", "rejected"):
        return "missed"
    if outcome != "ok":
        return "incomplete"
    if row["output_tokens"] == 0 or row["finish_reason"] == "error":
        return "missed"
    if row["ttft_ns"] is None:
        return "incomplete"
    if row["censored"] or row["ttft_ns"] > objective.ttft * 1e9:
        return "missed"
    slow = row["tpot_ns"] is not None and row["tpot_ns"] > objective.tpot * 1e9
    return "missed" if slow else "met"


def account(rows: Iterable[Mapping[str, Any]], objectives: Objectives) -> dict[str, Counter[str]]:
    """What became of the rows, by objective name."""
    counts: dict[str, Counter[str]] = {item.name: Counter() for item in objectives.items}
    for row in rows:
        objective = objective_of(row, objectives)
        counts[objective.name][account_of(row, objective)] += 1
    return counts
