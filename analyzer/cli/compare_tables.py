"""Draws a comparison."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from analyzer.cli.words import duration, fraction

_TITLES = {"ttft": "TTFT within limit", "tpot": "TPOT within limit", "joint": "both within limits"}


def print_comparison(answer: dict[str, Any]) -> None:
    """Print what was compared, the figures with intervals, and the notes."""
    console = Console()
    console.print(answer["summary"], highlight=False)
    console.print(f"Accelerators {answer['accelerators']}.\n", highlight=False)
    console.print(_sides(answer))
    console.print(_figures(answer))
    console.print(_buckets(answer))
    if answer["turns"]:
        console.print(_turns(answer["turns"]))
    for note in answer["notes"]:
        console.print(f"- {note}", highlight=False, markup=False)


def _table(title: str, first: str, numbers: tuple[str, ...]) -> Table:
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    table.add_column(first, overflow="fold", min_width=9)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _sides(answer: dict[str, Any]) -> Table:
    table = _table("What was compared", "", ("cohort", "from", "to", "evaluated", "accelerators"))
    for name in ("baseline", "candidate"):
        side = answer[name]
        gpus = side["gpus"]
        table.add_row(
            name,
            side["cohort"] or "any",
            *(f"{side['window'][end][:19]}Z" for end in ("from", "to")),
            f"{side['requests']['evaluated']:,}",
            f"{gpus['value']:g} ({gpus['source']})" if gpus["source"] else "–",
        )
    return table


def _figures(answer: dict[str, Any]) -> Table:
    numbers = ("baseline", "candidate", "difference", "better")
    table = _table("On the same mix of prompts (95% intervals)", "", numbers)
    for metric, title in _TITLES.items():
        table.add_row(title, *_contrast(answer["attainment"][metric], fraction))
    good = answer["good_requests_per_gpu_hour"]
    table.add_row("good requests per accelerator-hour", *_contrast(good, lambda value: f"{value:,.4g}"))
    return table


def _contrast(item: dict[str, Any], write: Any) -> list[str]:
    cells = [_interval(item[side], write) for side in ("baseline", "candidate", "difference")]
    return [*cells, item["better"] or "–"]


def _interval(item: dict[str, Any], write: Any) -> str:
    if item["value"] is None:
        return "–"
    return f"{write(item['value'])} [{write(item['low'])}, {write(item['high'])}]".replace("[", "\\[")


def _buckets(answer: dict[str, Any]) -> Table:
    numbers = ("mix", "evaluated", "both met, baseline", "candidate", "p95 TTFT", "better")
    table = _table("By prompt length", "tokens", numbers)
    for item in answer["buckets"]:
        joint, sides = item["attainment"]["joint"], (item["baseline"], item["candidate"])
        table.add_row(
            item["bucket"] or "not known",
            fraction(item["weight"]),
            " / ".join(f"{side['evaluated']:,}" for side in sides),
            fraction(joint["baseline"]["value"]),
            fraction(joint["candidate"]["value"]),
            " / ".join(duration(side["ttft"]["p95"] if side["ttft"] else None) for side in sides),
            joint["better"] or "–",
        )
    return table


def _turns(turns: list[dict[str, Any]]) -> Table:
    numbers = ("requests", "both met, baseline", "candidate", "cached", "appended", "recomputed", "better")
    table = _table("By turn of a conversation (baseline / candidate)", "turns", numbers)
    for item in turns:
        sides = (item["baseline"], item["candidate"])
        table.add_row(
            item["turns"],
            " / ".join(f"{side['requests']:,}" for side in sides),
            fraction(item["attainment"]["baseline"]["value"]),
            fraction(item["attainment"]["candidate"]["value"]),
            " / ".join(fraction(side["cached_fraction"]) for side in sides),
            " / ".join(f"{side['appended']:,}" for side in sides),
            " / ".join(f"{side['recomputed']:,}" for side in sides),
            item["attainment"]["better"] or "–",
        )
    return table
