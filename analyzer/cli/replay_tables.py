"""How `pdscope replay` prints."""

import json
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from analyzer.plan.benchmark import Benchmark
from analyzer.plan.receipt_model import Receipt
from analyzer.replay.diff import choose, diff, unlike

LATENCIES = ("ttft50_s", "ttft95_s", "ttft99_s", "tpot50_s", "tpot95_s", "tpot99_s", "itl99_s")


def print_benchmark(made: dict[str, Any], compared: dict[str, Any] | None, as_json: bool) -> None:
    """What was measured; with --json the receipt and the comparison as one document."""
    if as_json:
        print(json.dumps({"benchmark": made, "diff": compared}, indent=2))
        return
    console, figures = Console(highlight=False), made["figures"]
    if not made["complete"]:
        console.print(f"[yellow]partial[/]: {escape(made['why_incomplete'])}")
    table = Table(title="Measured by the client", title_justify="left", show_header=False)
    table.add_row("requests sent", f"{figures['sent']:,}")
    table.add_row(
        "answered", f"{figures['answered']:,}, of which {figures['met_count']:,} met the objectives"
    )
    for name in LATENCIES:
        value = figures[name]
        table.add_row(name.removesuffix("_s"), "–" if value is None else f"{value * 1e3:,.1f} ms")
    for name, count in figures["failed"].items():
        table.add_row(f"ended as {name}", f"{count:,}")
    table.add_row("output tokens counted by", figures["output_tokens_by"] or "–")
    console.print(table)
    colour = "green" if made["client"]["kept_up"] else "yellow"
    console.print(f"[{colour}]{escape(made['client']['statement'])}[/]")
    console.print(f"prompt lengths: {escape(made['lengths']['how'])}{escape(_told(made['lengths']))}")


def _told(lengths: dict[str, Any]) -> str:
    if lengths["told_mean"] is None:
        return ""
    asked, told = lengths["asked_mean"], lengths["told_mean"]
    return f"; asked {asked:,.0f} tokens on average, the server counted {told:,.0f}"


def print_diff(receipt: Receipt, made: dict[str, Any], scenario: str | None, as_json: bool) -> dict[str, Any]:
    """Promised (modelled) against measured, line by line; returns it as a document."""
    benchmark = Benchmark.model_validate(made)
    chosen = choose(receipt, benchmark, scenario)
    lines, caveats = diff(receipt, chosen, benchmark), unlike(receipt, chosen, benchmark)
    document = {
        "scenario": chosen.id,
        "layout": chosen.layout.name,
        "promised_label": "modelled",
        "measured_label": "measured",
        "unlike": caveats,
        "lines": [asdict(line) for line in lines],
    }
    if as_json:
        return document
    console = Console(highlight=False)
    table = Table(
        title=f"Scenario {chosen.id} ({chosen.layout.name}): promised and measured", title_justify="left"
    )
    for name in ("line", "promised (modelled)", "measured", "measured − promised", "note"):
        table.add_column(name, overflow="fold")
    for line in lines:
        error = "–" if line.error is None else f"{line.error:+.1%}"
        table.add_row(
            f"{line.name} ({line.unit})",
            _number(line.promised),
            _number(line.measured),
            error,
            line.why or "",
        )
    console.print(table)
    for caveat in caveats:
        console.print(f"[yellow]not alike[/]: {escape(caveat)}")
    return document


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
