"""Draws the report."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from analyzer.cli.words import duration, fraction
from collector.phases import TTFT_PARTS

_APART = ("cancelled", "invalid", "incomplete")
_ROOM_FOR_PROMPT = 92
"""Columns of a terminal that hold a request id, and the length of its prompt too."""


def print_report(answer: dict[str, Any]) -> None:
    """Print objectives, where the time went, and the slowest requests."""
    console = Console()
    window = answer["slo"]["window"]
    console.print(
        f"Requests that started from {window['from'][:19]}Z to {window['to'][:19]}Z\n", highlight=False
    )
    if answer["newest"]:
        console.print(
            f"There are none; the newest started at {answer['newest'][:19]}Z: give --from and --to.\n"
        )
    elif not any(item["requests"]["total"] for item in answer["slo"]["objectives"]):
        console.print("No request has come in yet: pdscope doctor says what is missing.\n")
    console.print(_objectives(answer["slo"]["objectives"]))
    console.print(_latency(answer["latency"]))
    if answer["slowest"]:
        console.print(_slowest(answer["slowest"], prompt=console.width >= _ROOM_FOR_PROMPT))


def _table(title: str, texts: tuple[str, ...], numbers: tuple[str, ...]) -> Table:
    """Columns of text, then columns of numbers; what does not fit is folded, never cut."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for name in texts:
        table.add_column(name, overflow="fold", min_width=9)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _objectives(objectives: list[dict[str, Any]]) -> Table:
    numbers = ("TTFT", "TPOT", "target", "met", "missed", "of", "budget", "burn 1h")
    table = _table("Objectives", ("objective",), numbers)
    for item in objectives:
        counts = item["requests"]
        joint, burn = item["attainment"]["joint"], item["burn_rates"]["1h"]
        table.add_row(
            item["name"],
            duration(item["ttft"]),
            duration(item["tpot"]),
            fraction(item["target"]),
            fraction(joint),
            f"{counts['missed']:,}",
            f"{counts['evaluated']:,}",
            fraction(item["budget_left"]),
            "–" if burn is None else f"{burn:.2f}",
            style=None if joint is None else ("green" if joint >= item["target"] else "red"),
        )
    apart = {name: sum(item["requests"][name] for item in objectives) for name in _APART}
    if any(apart.values()):
        said = ", ".join(f"{count:,} {name}" for name, count in apart.items() if count)
        table.caption, table.caption_justify = f"not evaluated: {said}", "left"
    return table


def _latency(latency: dict[str, dict[str, Any]]) -> Table:
    numbers = ("requests", "p50", "p90", "p95", "p99", "max")
    table = _table("Where the time went (phases: exposed time within TTFT)", ("",), numbers)
    for metric, row in latency.items():
        if metric in TTFT_PARTS and not row["max"]:
            continue
        values = (duration(row[name]) for name in numbers[1:])
        name = metric if metric in TTFT_PARTS else {"e2e": "end to end"}.get(metric, metric.upper())
        table.add_row(name, f"{row['count']:,}", *values, end_section=metric == "e2e")
    return table


def _slowest(requests: list[dict[str, Any]], prompt: bool) -> Table:
    numbers = ("TTFT", "TPOT", "prompt") if prompt else ("TTFT", "TPOT")
    table = _table("Slowest to the first token", ("request", "outcome", "longest phase"), numbers)
    # An id is there to be copied: others fold before it does.
    table.columns[0].no_wrap = True
    table.columns[1].min_width = 7
    for item in requests:
        exposed = item["exposed"] or {}
        longest = max(exposed, key=lambda part: exposed[part]) if exposed else None
        table.add_row(
            _id(item),
            item["outcome"] or "–",
            longest or "–",
            ("≥ " if item["censored"] else "") + duration(item["ttft"]),
            duration(item["tpot"]),
            *(["–" if item["input_tokens"] is None else f"{item['input_tokens']:,}"] if prompt else []),
            style=None if item["met"]["joint"] is not False else "red",
        )
    return table


def _id(item: dict[str, Any]) -> str:
    """Return an id that `explain` takes and a line holds."""
    request_id: str = item["request_id"] or ""
    return request_id if 0 < len(request_id) <= 36 else str(item["key"])
