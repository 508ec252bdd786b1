"""`pdscope demo --scenario`: a simulated deployment in which something breaks, and the verdict on it."""

import threading
import time
from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import Any

import yaml
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from analyzer.cli.process import Process
from analyzer.client import Client
from analyzer.demo.scenarios.catalogue import SCENARIOS, Scenario
from analyzer.demo.scenarios.player import MODEL, Player
from collector.errors import ConfigError
from collector.settings import Settings

_ANSWER_S = 60.0
"""How long after the last export the answer is waited for."""
_ROOM_FOR_CAUSE = 110
"""Columns of a terminal that hold a scenario, its whole cause and its story side by side."""


def named(name: str) -> Scenario:
    """The scenario of that name. Raises ConfigError."""
    if name not in SCENARIOS:
        raise ConfigError(f"--scenario: {name!r} is none of {', '.join(SCENARIOS)}")
    return SCENARIOS[name]


def print_list(as_json: bool) -> None:
    """Print every scenario, the cause it ends in and what is broken in it."""
    if as_json:
        rows = [{"name": s.name, "cause": str(s.cause), "story": s.story} for s in SCENARIOS.values()]
        print(dumps(rows, indent=2))
        return
    table = Table(
        title="Simulated incidents: pdscope demo --scenario NAME",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("scenario", no_wrap=True)
    table.add_column("cause", no_wrap=True)
    table.add_column("what breaks", overflow="fold")
    console = Console()
    # A narrow terminal breaks a cause at its dot, not within a word, and leaves room for the story.
    cut = ".\n" if console.width < _ROOM_FOR_CAUSE else "."
    for scenario in SCENARIOS.values():
        table.add_row(scenario.name, str(scenario.cause).replace(".", cut), scenario.story)
    console.print(table)


def run(
    scenario: Scenario,
    settings: Settings,
    scratch: Path,
    speed: float,
    console: Console,
    as_json: bool,
    stop: threading.Event,
) -> None:
    """Stream the scenario into a pdscope of its own until `stop`; print the verdict on its first round."""
    process = Process(settings if settings.slo else replace(settings, slo=_objectives(scenario, scratch)))
    process.start()
    try:
        player = Player(process.addresses()["otlp_grpc"], scenario, speed)
        player.start()
        try:
            page = f"{process.url}/?range=15m"
            console.print(f"The page: [bold]{page}[/bold]")
            console.print(f"Simulated: {scenario.story}", highlight=False)
            with console.status(f"Streaming a minute of it, {speed:g} times as fast as it happened…"):
                found = _verdict(Client(process.url, settings.token), player, stop)
            if found:
                _show(scenario, found, console, as_json)
            elif not stop.is_set():
                console.print(f"No answer within {_ANSWER_S:.0f} s.")
            for failure in player.failures[-3:]:
                console.print(failure, style="red", markup=False)
            console.print(f"Still streaming. Look at [bold]{page}[/bold]; stop with Ctrl-C.")
            console.print(f"From another terminal: pdscope report --api {process.url}", highlight=False)
            stop.wait()
        finally:
            player.stop()
    finally:
        process.stop()


def _objectives(scenario: Scenario, scratch: Path) -> Path:
    """An slo.yaml with the scenario's objective."""
    path = scratch / "slo.yaml"
    objective = {"name": scenario.name, "ttft": scenario.ttft, "tpot": scenario.tpot, "target": 0.99}
    path.write_text(yaml.safe_dump({"objectives": [objective]}), encoding="utf-8")
    return path


def _verdict(client: Client, player: Player, stop: threading.Event) -> dict[str, Any] | None:
    """The diagnosis of the first round once every request of it is in; the last one asked when time is up."""
    while not player.first_round.wait(0.25):
        if stop.is_set() or not player.alive:
            return None
    since, until = (edge / 1e9 for edge in player.window_ns)
    found = None
    deadline = time.monotonic() + _ANSWER_S
    while time.monotonic() < deadline and not stop.wait(0.5):
        # What is streamed meanwhile keeps the store from being quiet, so the count tells that all is in.
        found = client.get("/diagnosis", from_=f"{since:.3f}", to=f"{until:.3f}", model=MODEL)
        if found["requests"]["total"] >= player.requests and not found["requests"]["incomplete"]:
            break
    return found


def _show(scenario: Scenario, found: dict[str, Any], console: Console, as_json: bool) -> None:
    if as_json:
        print(
            dumps({"scenario": scenario.name, "claims": str(scenario.cause), "diagnosis": found}, indent=2),
            flush=True,
        )
        return
    console.print(f"[bold]{found['dominant_cause']}[/bold]  {found['summary']}")
    for cause in found["causes"][:4]:
        met = cause["would_have_met_without_it"]
        console.print(
            f"\n[bold]{cause['cause']}[/bold]: {100 * cause['share']:.0f} % of the misses"
            + ("" if met is None else f"; without it {met:,} would have met"),
            highlight=False,
        )
        seen = [
            f"{e['signal']} {_value(e['value'])} {e['unit'] or ''}".strip() for e in cause["evidence"][:4]
        ]
        for line in (", ".join(seen), f"→ {cause['next_step']}"):
            console.print(Padding(Text(line), (0, 0, 0, 4), expand=False))
    console.print()
    for finding in found["findings"]:
        console.print(f"finding: {finding['finding']}: {finding['detail']}", highlight=False, markup=False)


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
