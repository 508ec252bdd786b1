"""Draws the report."""

from typing import Any

from rich.console import Console
from rich.table import Table

from analyzer.cli.words import duration, fraction
from collector.phases import TTFT_PARTS


def print_report(answer: dict[str, Any]) -> None:
    """Print objectives, where the time went, and the slowest requests."""
    console = Console()
    window = answer["slo"]["window"]
    console.print(f"Requests that started from {window['from'][:19]}Z to {window['to'][:19]}Z\n")
    console.print(_objectives(answer["slo"]["objectives"]))
    console.print(_latency(answer["latency"]))
    if answer["slowest"]:
        console.print(_slowest(answer["slowest"]))


def _objectives(objectives: list[dict[str, Any]]) -> Table:
    table = Table(title="Objectives", title_justify="left")
    for name in ("objective", "TTFT", "TPOT", "target", "evaluated", "missed", "attainment", "budget left", "burn 1h"):
        table.add_column(name, justify="left" if name == "objective" else "right")
    table.add_column("not evaluated")
    for item in objectives:
        counts = item["requests"]
        others = ("cancelled", "invalid", "incomplete")
        apart = ", ".join(f"{counts[name]} {name}" for name in others if counts[name])
        joint = item["attainment"]["joint"]
        met = joint is not None and joint >= item["target"]
        table.add_row(
            item["name"],
            duration(item["ttft"]),
            duration(item["tpot"]),
            fraction(item["target"]),
            f"{counts['evaluated']:,}",
            f"{counts['missed']:,}",
            fraction(joint),
            fraction(item["budget_left"]),
            "–" if item["burn_rates"]["1h"] is None else f"{item['burn_rates']['1h']:.2f}",
            apart,
            style=None if joint is None else ("green" if met else "red"),
        )
    return table


def _latency(latency: dict[str, dict[str, Any]]) -> Table:
    table = Table(title="Where the time went (phases: exposed time within TTFT)", title_justify="left")
    table.add_column("")
    for name in ("requests", "p50", "p90", "p95", "p99", "max"):
        table.add_column(name, justify="right")
    for metric, row in latency.items():
        if metric in TTFT_PARTS and not row["max"]:
            continue
        values = (duration(row[name]) for name in ("p50", "p90", "p95", "p99", "max"))
        name = metric if metric in TTFT_PARTS else {"e2e": "end to end"}.get(metric, metric.upper())
        table.add_row(name, f"{row['count']:,}", *values, end_section=metric == "e2e")
    return table


def _slowest(requests: list[dict[str, Any]]) -> Table:
    table = Table(title="Slowest to the first token", title_justify="left")
    for name in ("request", "started", "outcome", "TTFT", "TPOT", "prompt", "output", "longest phase", "cause"):
        table.add_column(name, justify="right" if name in ("TTFT", "TPOT", "prompt", "output") else "left")
    for item in requests:
        exposed = item["exposed"] or {}
        longest = max(exposed, key=lambda part: exposed[part]) if exposed else None
        table.add_row(
            item["request_id"] or item["key"],
            item["started_at"][11:23],
            item["outcome"] or "–",
            ("≥ " if item["censored"] else "") + duration(item["ttft"]),
            duration(item["tpot"]),
            "–" if item["input_tokens"] is None else f"{item['input_tokens']:,}",
            "–" if item["output_tokens"] is None else f"{item['output_tokens']:,}",
            f"{longest} {duration(exposed[longest])}" if longest else "–",
            item["cause"] or "–",
        )
    return table
