"""Draws a comparison."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from analyzer.cli.words import duration

_TITLES = {"ttft": "TTFT within limit", "tpot": "TPOT within limit", "joint": "both within limits"}


def print_comparison(answer: dict[str, Any]) -> None:
    """Print what was compared, the figures with intervals, and the notes."""
    console = Console()
    console.print(answer["summary"], highlight=False, markup=False, end="\n\n")
    for name in ("baseline", "candidate"):
        console.print(f"- {_said(name, answer[name])}", highlight=False, markup=False)
    console.print(f"- accelerators {answer['accelerators']}\n", highlight=False, markup=False)
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


def _said(name: str, side: dict[str, Any]) -> str:
    gpus, window = side["gpus"], side["window"]
    accelerators = f"{gpus['value']:g} accelerators ({gpus['source']})" if gpus["source"] else gpus["reason"]
    return (
        f"{name}: {side['cohort'] or 'any cohort'}, {side['requests']['evaluated']:,} evaluated requests "
        f"from {window['from'][:19]}Z to {window['to'][:19]}Z; {accelerators}"
    )


def _figures(answer: dict[str, Any]) -> Table:
    numbers = ("baseline", "candidate", "difference [95%]", "better")
    table = _table("On the same mix of prompts", "", numbers)
    for metric, title in _TITLES.items():
        table.add_row(title, *_contrast(answer["attainment"][metric], lambda value: f"{value:.1%}"))
    good = answer["good_requests_per_gpu_hour"]
    table.add_row("good per accelerator-hour", *_contrast(good, lambda value: f"{value:,.4g}"))
    return table


def _contrast(item: dict[str, Any], write: Any) -> list[str]:
    if item["better"] is None:
        return ["–", "–", "–", "–"]
    by = item["difference"]
    difference = f"{write(by['value'])} \\[{write(by['low'])}, {write(by['high'])}]"
    return [write(item["baseline"]["value"]), write(item["candidate"]["value"]), difference, item["better"]]


def _buckets(answer: dict[str, Any]) -> Table:
    numbers = ("mix", "evaluated", "both met", "p95 TTFT", "better")
    table = _table("By prompt length (baseline / candidate)", "tokens", numbers)
    for item in answer["buckets"]:
        joint, sides = item["attainment"]["joint"], (item["baseline"], item["candidate"])
        table.add_row(
            item["bucket"] or "not known",
            _per_cent(item["weight"]),
            " / ".join(f"{side['evaluated']:,}" for side in sides),
            _both(joint),
            " / ".join(duration(side["ttft"]["p95"] if side["ttft"] else None) for side in sides),
            joint["better"] or "–",
        )
    return table


def _turns(turns: list[dict[str, Any]]) -> Table:
    numbers = ("requests", "both met", "cached", "appended", "recomputed", "better")
    table = _table("By turn of a conversation (baseline / candidate)", "turns", numbers)
    for item in turns:
        sides = (item["baseline"], item["candidate"])
        table.add_row(
            item["turns"],
            " / ".join(f"{side['requests']:,}" for side in sides),
            _both(item["attainment"]),
            " / ".join(_per_cent(side["cached_fraction"]) for side in sides),
            " / ".join(f"{side['appended']:,}" for side in sides),
            " / ".join(f"{side['recomputed']:,}" for side in sides),
            item["attainment"]["better"] or "–",
        )
    return table


def _both(item: dict[str, Any]) -> str:
    return " / ".join(_per_cent(item[side]["value"]) for side in ("baseline", "candidate"))


def _per_cent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
