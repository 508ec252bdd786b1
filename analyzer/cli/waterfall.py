"""Draws one request's timeline with text."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analyzer.cli.words import duration
from collector.phases import TTFT_PHASES, Phase

WIDEST_BAR = 72
EXPOSED, HIDDEN, BOUNDED, GAP = "█", "░", "▒", "·"
_ORDER = {phase.value: number for number, phase in enumerate(TTFT_PHASES)}


@dataclass(frozen=True)
class Bar:
    """An interval in seconds since the request's start."""

    phase: str | None
    covers: tuple[str, ...]
    worker: str
    start: float
    end: float
    attempt: int
    source: str

    def active(self, at: float) -> bool:
        """Whether the interval holds an instant."""
        return self.start <= at < self.end


def print_request(found: dict[str, Any], console: Console | None = None) -> None:
    """Print a request as `GET /requests/{id}` returns it."""
    console = console or Console(highlight=False)
    # On a line of its own, never folded: ids are there to be copied.
    console.print(Text(found["request_id"] or found["key"], style="bold"), soft_wrap=True)
    console.print(_heading(found))
    bars = bars_of(found)
    if found["ttft"] is not None and found["ttft"] > 0:
        console.print(_waterfall(found, bars, console.width))
        console.print(_legend(found))
    console.print(_exposed(found))
    for line in _remarks(found):
        console.print(line)


def bars_of(found: dict[str, Any]) -> list[Bar]:
    """Intervals relative to the start; those of a superseded attempt end where the next one begins."""
    start = _ns(found["started_at"])
    bars = [
        Bar(
            interval["phase"],
            tuple(interval["covers"]),
            interval["worker"] or "–",
            (_ns(interval["start"]) - start) / 1e9,
            (_ns(interval["end"]) - start) / 1e9,
            interval["attempt"],
            interval["source"],
        )
        for interval in found["intervals"]
    ]
    return sorted(bars, key=lambda bar: (bar.attempt, bar.start, _ORDER.get(bar.phase or "", 99)))


def cells(bar: Bar, bars: list[Bar], span: float, width: int) -> str:
    """One bar of `width` cells over [0, span]: exposed where no earlier phase is active, hidden elsewhere."""
    drawn = []
    for number in range(width):
        at = (number + 0.5) * span / width
        shortest = bar.end - bar.start < span / width and int(bar.start / span * width) == number
        if not (bar.active(at) or shortest):
            drawn.append(" ")
        elif bar.phase is None:
            drawn.append(BOUNDED)
        else:
            drawn.append(EXPOSED if _owns(bar, bars, at) else HIDDEN)
    return "".join(drawn)


def gaps(bars: list[Bar], ttft: float, width: int) -> str:
    """Where nothing is known to have happened before the first token, in `width` cells."""
    mids = [(number + 0.5) * ttft / width for number in range(width)]
    return "".join(" " if any(bar.phase and bar.active(at) for bar in bars) else GAP for at in mids)


def _owns(bar: Bar, bars: list[Bar], at: float) -> bool:
    rank = _ORDER.get(bar.phase or "", 99)
    newest = max((other.attempt for other in bars if other.start <= at), default=bar.attempt)
    rivals = (
        other for other in bars if other.phase in _ORDER and other.attempt == newest and other.active(at)
    )
    return bar.attempt == newest and all(_ORDER[other.phase or ""] >= rank for other in rivals)


def _heading(found: dict[str, Any]) -> Text:
    censored = "at least " if found["censored"] else ""
    text = Text(f"{found['model'] or 'model not named'}, {found['outcome'] or 'outcome not known'}\n")
    text.append(f"started {found['started_at'][:23]}Z  TTFT {censored}{duration(found['ttft'])}")
    if found["ttft_source"]:
        uncertainty = found["ttft_uncertainty"]
        give_or_take = "" if uncertainty is None else f", ± {duration(uncertainty)}"
        text.append(f" ({found['ttft_source']}{give_or_take})")
    text.append(f"\nTPOT {duration(found['tpot'])}  end to end {duration(found['e2e'])}\n")
    tokens = (
        f"{name} {found[f'{name}_tokens']}"
        for name in ("input", "output", "cached")
        if found[f"{name}_tokens"] is not None
    )
    text.append(f"{_workers(found)}\ntokens: {', '.join(tokens) or 'not known'}\n")
    return text


def _waterfall(found: dict[str, Any], bars: list[Bar], room: int) -> Table:
    """One row an interval that began before the first token; `room` is the width of the console."""
    span = found["ttft"]
    shown = [bar for bar in bars if bar.phase != Phase.DECODE and bar.start < span]
    names = [_name(bar, found["attempts"]) for bar in shown]
    width = max(16, min(WIDEST_BAR, room - min(34, max(map(len, names), default=12)) - 22))
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    table.add_column("phase", overflow="fold", max_width=34)
    table.add_column("0" + duration(span).rjust(width - 1), no_wrap=True, width=width)
    table.add_column("lasted", justify="right", no_wrap=True)
    for name, bar in zip(names, shown, strict=True):
        mark = "" if bar.source in ("", "observed") else f" {bar.source}"
        table.add_row(name, Text(cells(bar, bars, span, width), "cyan"), duration(bar.end - bar.start) + mark)
    unseen = gaps(bars, span, width)
    if unseen.strip():
        exposed = (found["exposed"] or {}).get("unattributed")
        table.add_row("unattributed", Text(unseen, "yellow"), duration(exposed))
    return table


def _name(bar: Bar, attempts: int) -> str:
    name = bar.phase or f"within {', '.join(bar.covers)}"
    return f"{name} ({bar.attempt})" if attempts > 1 else name


def _workers(found: dict[str, Any]) -> str:
    named = ((leg, found[f"{leg}_worker"]) for leg in ("prefill", "decode"))
    return ", ".join(f"{leg} on {worker}" for leg, worker in named if worker) or "workers not named"


def _legend(found: dict[str, Any]) -> Text:
    end = "no first token yet" if found["censored"] else "first token"
    return Text(
        f"{EXPOSED} exposed  {HIDDEN} hidden behind an earlier phase  {BOUNDED} several phases  "
        f"{GAP} nothing seen; the right edge: {end}",
        "dim",
    )


def _exposed(found: dict[str, Any]) -> Table:
    title = "What TTFT is made of"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("part")
    table.add_column("exposed", justify="right")
    table.add_column("share", justify="right")
    parts = found["exposed"] or {}
    for part, seconds in sorted(parts.items(), key=lambda item: -item[1]):
        if seconds:
            table.add_row(part, duration(seconds), f"{seconds / found['ttft'] * 100:.1f}%")
    if not parts:
        table.add_row("not known: no first token was seen", "–", "–")
    return table


def _remarks(found: dict[str, Any]) -> list[str]:
    lines = [
        f"{duration(item['exposed'])} of the unattributed time lies within {', '.join(item['covers'])}"
        + (f": {item['reason']}" if item["reason"] else "")
        for item in found["composites"]
    ]
    verdict = found["verdict"]
    if verdict is None:
        lines.append("not evaluated against an objective")
    elif verdict["cause"] == "none":
        lines.append(f"met objective {found['objective']}")
    else:
        lines.append(f"missed objective {found['objective']}; cause: {verdict['cause']}")
        lines += [
            f"  missing {item['signal']}: {item['why_it_matters']}; {item['how_to_get_it']}"
            for item in verdict["missing_telemetry"]
        ]
    return lines + [f"note: {note}" for note in found["notes"]]


def _ns(instant: str) -> int:
    """Unix nanoseconds of an RFC 3339 instant in UTC with nine decimals."""
    seconds, decimals = instant.rstrip("Z").split(".")
    return int(datetime.fromisoformat(seconds + "+00:00").timestamp()) * 10**9 + int(decimals)
