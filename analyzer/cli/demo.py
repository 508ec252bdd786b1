"""`pdscope demo`."""

import signal
import socket
import tempfile
import threading
import time
from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from analyzer.cli import demo_scenario
from analyzer.cli.options import JsonOption, with_settings
from analyzer.cli.process import Process
from analyzer.cli.waterfall import print_request
from analyzer.client import Client
from analyzer.demo.capture import load
from analyzer.demo.stream import Streamer
from collector.settings import Address, Settings

_FIRST_REQUEST_S = 90.0
_FIRST_MISS_S = 10.0
"""How long a request that missed its objective is waited for once there is one that met it."""


@with_settings("data", "api", "otlp_grpc", "otlp_http", "clickhouse_http", "slo")
def demo(
    settings: Settings,
    scenario: Annotated[
        str | None, typer.Option(metavar="NAME", help="Play this simulated incident instead of the captures.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the scenarios and the cause of each.")] = False,
    speed: Annotated[
        float, typer.Option(min=1.0, max=100.0, help="How fast the first round of a scenario is told.")
    ] = 10.0,
    json: JsonOption = False,
) -> None:
    """Stream real captures of vLLM and Dynamo into a pdscope of its own, and explain one request.

    The captures are sent over OTLP/gRPC as the recorded processes did, in real time, again and again with
    fresh ids and times, until interrupted. Unless --data is given the store is a temporary directory,
    removed at the end, and an address that is taken is replaced by a free one.

    With --scenario a small simulated deployment is streamed instead: it is well for 20 s, then one part of
    it breaks, and the verdict is printed. No GPU and no engine are needed.

    \b
    Examples:
      pdscope demo
      pdscope demo --api 127.0.0.1:9000 --data ./demo-data
      pdscope demo --list
      pdscope demo --scenario slow-link
      pdscope demo --scenario prefill-starved --speed 1
    """
    if list_:
        demo_scenario.print_list(json)
        return
    chosen = demo_scenario.named(scenario) if scenario is not None else None
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    console = Console(stderr=json, highlight=False)
    with tempfile.TemporaryDirectory(prefix="pdscope-demo-") as scratch:
        settled = _settle(settings, Path(scratch))
        if chosen:
            demo_scenario.run(chosen, settled, Path(scratch), speed, console, json, stop)
        else:
            _run(settled, console, json, stop)


def _settle(settings: Settings, scratch: Path) -> Settings:
    """Where nothing was asked for: a store that leaves no trace, and addresses that nobody else holds."""
    plain, chosen = Settings(), settings
    if settings.data == plain.data:
        chosen = replace(chosen, data=scratch / "data")
    if settings.otlp_grpc == plain.otlp_grpc:
        chosen = replace(chosen, otlp_grpc=Address("127.0.0.1", 0))
    if settings.otlp_http == plain.otlp_http:
        chosen = replace(chosen, otlp_http=Address("127.0.0.1", 0))
    if settings.clickhouse_http == plain.clickhouse_http:
        chosen = replace(chosen, clickhouse_http=Address("127.0.0.1", 0))
    if settings.api == plain.api and _taken(settings.api):
        chosen = replace(chosen, api=Address("127.0.0.1", 0))
    return chosen


def _taken(address: Address) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address.host, address.port)) == 0


def _run(settings: Settings, console: Console, as_json: bool, stop: threading.Event) -> None:
    process = Process(settings)
    process.start()
    try:
        streamer = Streamer(process.addresses()["otlp_grpc"], [load("dynamo"), load("vllm")])
        streamer.start()
        try:
            page = f"{process.url}/?range=15m"
            console.print(f"The page: [bold]{page}[/bold]")
            with console.status("Streaming real captures of Dynamo and vLLM; waiting for the first request…"):
                found = _first_request(process.url, stop)
            if found is None:
                for failure in streamer.failures[-3:]:
                    console.print(f"[red]{failure}[/red]")
                if not stop.is_set():
                    console.print(f"No request was complete within {_FIRST_REQUEST_S:.0f} s.")
            else:
                _show(found, console, as_json)
            console.print(f"Still streaming. Look at [bold]{page}[/bold]; stop with Ctrl-C.")
            console.print(f"From another terminal: pdscope report --api {process.url}", highlight=False)
            stop.wait()
        finally:
            streamer.stop()
    finally:
        process.stop()


def _first_request(url: str, stop: threading.Event) -> dict[str, Any] | None:
    """The first complete request, rather one that missed, with its timeline; None when none came in time or
    the user left.
    """
    client = Client(url)
    until = time.monotonic() + _FIRST_REQUEST_S
    key = None
    while time.monotonic() < until and not stop.wait(0.25):
        requests = client.get("/requests", limit=20, order="slowest")["requests"]
        whole = [request for request in requests if request["complete"] and request["ttft"] is not None]
        missed = [request for request in whole if request["met"]["joint"] is False]
        if whole and key is None:
            until = min(until, time.monotonic() + _FIRST_MISS_S)
        if whole:
            key = (missed or whole)[0]["key"]
        if missed:
            break
    return client.find(key) if key and not stop.is_set() else None


def _show(found: dict[str, Any], console: Console, as_json: bool) -> None:
    if as_json:
        print(dumps(found, indent=2), flush=True)
        return
    print_request(found, console)
