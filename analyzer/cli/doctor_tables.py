"""Draws the check-up of the telemetry."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_STYLE = {"critical": "bold red", "warning": "yellow", "info": "dim"}
_TITLES = {
    "fact": "What happened",
    "missing": "What is missing, for which answer, and what would bring it",
    "lie": "What can't be so, or does not mean what its name says",
}


def print_check_up(answer: dict[str, Any], every: bool) -> None:
    """Print what arrives, then the checks; `every` adds what is merely worth knowing, and each signal."""
    console = Console()
    window = answer["window"]
    console.print(f"Telemetry from {window['from'][:19]}Z to {window['to'][:19]}Z\n", highlight=False)
    _print_workers(console, answer)
    if every:
        console.print(_signals(answer["signals"]))
    checks = [check for check in answer["checks"] if every or check["severity"] != "info"]
    for kind, title in _TITLES.items():
        found = [check for check in checks if check["kind"] == kind]
        if found:
            _print_checks(console, title, found)
    hidden = len(answer["checks"]) - len(checks)
    if not checks:
        console.print("Nothing is missing, and nothing contradicts itself.")
    if hidden:
        console.print(f"{hidden} more are merely worth knowing: pdscope doctor --all")


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def _print_workers(console: Console, answer: dict[str, Any]) -> None:
    """One row a worker: what it sends, and whether it answers."""
    table = _table("What arrives", "pool", "worker", "system", "state", "signals")
    states = {item["worker"]: item for item in answer["scraped"]}
    told: dict[str, list[dict[str, Any]]] = {}
    for item in answer["signals"]:
        told.setdefault(item["worker"], []).append(item)
    for worker in sorted({*told, *states}):
        signals, state = told.get(worker, []), states.get(worker)
        pool = next((item["pool"] for item in [*signals, *([state] if state else [])] if item["pool"]), None)
        systems = sorted({item["system"] for item in signals} - {"infrastructure"}) or ["–"]
        names = dict.fromkeys(item["signal"] for item in signals if item["signal"] != "up")
        table.add_row(pool or "?", escape(worker), ", ".join(systems), _state(state), ", ".join(names) or "–")
    if table.row_count:
        console.print(table)
    else:
        console.print("No metrics of any worker arrive.")
    requests = [f"{system['requests']:,} of {system['system'] or '?'}" for system in answer["systems"]]
    console.print(f"Requests assembled so far: {', '.join(requests) or 'none'}\n", highlight=False)


def _state(state: dict[str, Any] | None) -> str:
    if state is None:
        return "sends"
    if state["state"] == "up":
        return "[green]scraped[/]"
    reason = f" ({escape(state['reason'])})" if state["reason"] else ""
    return f"[red]{state['state']}[/] since {state['since'][11:19]}Z{reason}"


def _signals(signals: Iterable[dict[str, Any]]) -> Table:
    table = _table("Signals", "pool", "signal", "metric", "workers", "points")

    def key(item: dict[str, Any]) -> tuple[str, str, str]:
        part = f" ({item['part']})" if item["part"] else ""
        return item["pool"] or "?", item["signal"] + part, item["metric"]

    for (pool, signal, metric), members in groupby(sorted(signals, key=key), key=key):
        group = list(members)
        workers = len({item["worker"] for item in group})
        table.add_row(pool, signal, metric, f"{workers:,}", f"{sum(item['points'] for item in group):,}")
    return table


def _print_checks(console: Console, title: str, checks: list[dict[str, Any]]) -> None:
    """One paragraph a check. A fix is not wrapped by us: it is there to be copied."""
    console.print(f"[bold]{title}[/]")
    for check in checks:
        about = " ".join(filter(None, (check["system"], check["subject"])))
        style = _STYLE[check["severity"]]
        console.print(
            f"[{style}]{check['severity']}[/] {escape(f'{about}: ' if about else '')}{escape(check['says'])}",
            highlight=False,
        )
        console.print(Padding(Text(check["matters"] or "", style="dim"), (0, 0, 0, 4), expand=False))
        if check["fix"]:
            console.print(f"    → {check['fix']}", soft_wrap=True, markup=False, highlight=False)
    console.print()
