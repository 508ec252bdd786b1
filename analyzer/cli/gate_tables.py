"""How `pdscope gate` prints."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from analyzer.gate.markdown import WORDS, between, told

COLOURS = {"pass": "green", "refuse": "red", "cannot_say": "yellow"}
MARKS = {
    "shown": "[green]yes",
    "failed": "[red]no",
    "not_shown": "[yellow]not shown",
    "waived": "[dim]waived",
    "kept": "[green]kept",
    "broken": "[red]broken",
    "undecided": "[yellow]undecided",
}


def print_gate(answer: dict[str, Any]) -> None:
    """Verdict and reasons first, then promises, checklist and slices."""
    console = Console(highlight=False)
    console.print(f"[bold {COLOURS[answer['verdict']]}]{WORDS[answer['verdict']]}[/]")
    for side in ("baseline", "candidate"):
        item = answer[side]
        console.print(
            f"{side}: {escape(item['name'])}, {item['met']:,} of {item['evaluated']:,} met their objectives, "
            f"layout {item['layout'] or 'not known'}, {told(item['accelerators'])} accelerators"
        )
    if plan := answer["plan"]:
        scenario = f"{plan['scenario']} ({plan['layout']})" if plan["scenario"] else "none fits"
        console.print(f"receipt: {escape(plan['name'])}, {plan['status']}; scenario {scenario}")
        for line in plan["unchecked"][:3]:
            console.print(f"[yellow]not verified[/]: {escape(line)}")
    if not answer["settled"]:
        console.print("[yellow]not final: spans of the window were still being taken into account")
    for reason in answer["refused"]:
        console.print(f"[red]refused[/]: {escape(reason)}")
    for reason in answer["unsaid"]:
        console.print(f"[yellow]cannot say[/]: {escape(reason)}")
    if answer["promises"]:
        console.print(_promises(answer["promises"]))
    console.print(_checklist(answer["checklist"]))
    console.print(_slices(answer["slices"]))


def _promises(lines: list[dict[str, Any]]) -> Table:
    table = Table(title="Promised (modelled) and measured (observed)", title_justify="left")
    for name in ("line", "promised", "measured [95 %]", "limit", "kept"):
        table.add_column(escape(name), overflow="fold")
    for line in lines:
        measured = escape(between(line["measured"]))
        of = f", prompts {line['prompts']}" if line["prompts"] else ""
        unit = f"{line['name']}{of} ({line['unit']})"
        table.add_row(unit, told(line["promised"]), measured, told(line["limit"]), MARKS[line["kept"]])
    return table


def _checklist(checks: list[dict[str, Any]]) -> Table:
    table = Table(title="Checklist", title_justify="left")
    for name in ("line", "", "because"):
        table.add_column(name, overflow="fold")
    for check in checks:
        source = "" if check["source"] == "store" else f" ({check['source']})"
        table.add_row(check["title"], MARKS[check["status"]], escape(check["answer"] + source))
    return table


def _slices(slices: list[dict[str, Any]]) -> Table:
    table = Table(title="Slices; latencies in seconds", title_justify="left")
    for name in ("slice", "figure", "baseline [95 %]", "candidate [95 %]", "better"):
        table.add_column(escape(name), overflow="fold")
    for part in slices:
        name = "all" if part["by"] == "all" else f"{part['by']} {part['key'] or 'not named'}"
        for number, figure in enumerate(part["figures"]):
            sides = [escape(between(figure[side])) for side in ("baseline", "candidate")]
            table.add_row("" if number else escape(name), figure["name"], *sides, figure["better"] or "–")
    return table
