"""`pdscope replay`."""

import asyncio
import json as json_module
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from analyzer.cli.options import ApiOption, JsonOption, TokenOption, settings_of
from analyzer.plan.errors import PlanError
from analyzer.plan.outcome import Objective
from analyzer.replay.calibrate import calibrate
from analyzer.replay.client import CHAT, Pace, Replayer, Run, Target
from analyzer.replay.errors import ReplayError
from analyzer.replay.prompts import Lengths
from analyzer.replay.report import benchmark
from analyzer.replay.schedule import Schedule, of_requests, of_trace
from collector.errors import ConfigError
from collector.tap.settings import parse_upstream

INTERRUPTED = 130


def replay(
    target: Annotated[str, typer.Option(metavar="URL", help="The endpoint; a `pdscope tap` in front of it.")],
    model: Annotated[str, typer.Option(help="Model name that is asked for.")],
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Azure .csv or Mooncake .jsonl.", dir_okay=False)
    ] = None,
    store: Annotated[
        bool, typer.Option("--store", help="Replay requests of a pdscope's own store instead of a file.")
    ] = False,
    from_: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Of --store.")] = None,
    to: Annotated[str | None, typer.Option(metavar="TIME", help="Of --store.")] = None,
    store_cohort: Annotated[str | None, typer.Option(help="Of --store: only this cohort's requests.")] = None,
    receipt: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the benchmark receipt here, as JSON.")
    ] = None,
    speed: Annotated[float, typer.Option(min=0.001, max=1000, help="How many times as fast.")] = 1.0,
    concurrency: Annotated[int, typer.Option(min=1, max=65_536, help="Most requests under way.")] = 1024,
    first: Annotated[int, typer.Option(min=0, help="Number of the first request.")] = 0,
    requests: Annotated[int | None, typer.Option(min=1, help="How many of them; default: all.")] = None,
    lengths: Annotated[
        str, typer.Option(help="words (measured against the endpoint) or ids (exact; /v1/completions).")
    ] = "words",
    path: Annotated[str, typer.Option(help="Path of the endpoint.")] = CHAT,
    force_output: Annotated[
        bool, typer.Option(help="Ask for exactly the trace's output tokens (min_tokens, ignore_eos).")
    ] = True,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds a request may take.")] = 600.0,
    cohort: Annotated[str | None, typer.Option(help="Cohort the endpoint serves, for the receipt.")] = None,
    layout: Annotated[
        str | None, typer.Option(help="Layout that is measured, as receipts name it: 2P+2D, 4x512.")
    ] = None,
    ttft: Annotated[float, typer.Option(min=0.001, help="TTFT objective in seconds.")] = 2.0,
    tpot_ms: Annotated[float, typer.Option(min=0.001, help="TPOT objective in milliseconds.")] = 12.0,
    seed: Annotated[int, typer.Option(help="Seed of the drawn prompts.")] = 7,
    diff: Annotated[
        Path | None, typer.Option(metavar="PLAN", help="Lay the receipt of a plan beside, line by line.")
    ] = None,
    scenario: Annotated[
        str | None, typer.Option(help="Scenario of --diff; default: that of --layout.")
    ] = None,
    endpoint_token: Annotated[
        str | None, typer.Option(envvar="OPENAI_API_KEY", hidden=True, help="Bearer token of the endpoint.")
    ] = None,
    json: JsonOption = False,
    api: ApiOption = None,
    data: Annotated[Path | None, typer.Option(metavar="PATH", help="Data directory [PDSCOPE_DATA]")] = None,
    token: TokenOption = None,
) -> None:
    """Send a trace's requests at their times to an OpenAI-compatible endpoint, and say what came back.

    Prompts are drawn words of the right length; nobody's text is sent. Requests go out when they are due
    whatever became of those before (open loop); how late the client was is part of the result. Ctrl-C ends
    it with a receipt that says it is partial. A bearer token for the endpoint is read from OPENAI_API_KEY.

    \b
    Examples:
      pdscope tap --upstream http://127.0.0.1:8000 --cohort disaggregated
      pdscope replay --trace mooncake_conversation_trace.jsonl --target http://127.0.0.1:8081 \\
          --model llama-70b --requests 500 --receipt bench.json
      pdscope replay --trace AzureLLMInferenceTrace_conv.csv --target http://127.0.0.1:8081 --model m \\
          --layout 2P+2D --diff plan.json
    """
    try:
        address = Target(parse_upstream(target), model, path, endpoint_token, force_output, timeout)
        if lengths not in ("words", "ids"):
            raise ConfigError(f"--lengths: {lengths!r} is neither words nor ids")
        if (trace is None) is not store:
            raise ConfigError("--trace FILE or --store: give one of them")
        plan = _plan(diff) if diff else None
        if trace is not None:
            schedule = of_trace(trace, first, requests)
        else:
            asked = {"from_": from_, "to": to, "cohort": store_cohort}
            schedule = _stored(api, settings_of(data, token), asked, first, requests)
        pace = Pace(speed, concurrency)
        console = Console(stderr=True, highlight=False)
        made = _run(schedule, address, lengths == "ids", pace, Objective(ttft, tpot_ms / 1000), seed,
                    {"cohort": cohort, "layout": layout}, console)  # fmt: skip
        if receipt:
            _write(receipt, made)
            console.print(f"wrote {receipt}", markup=False)
        from analyzer.cli.replay_tables import print_benchmark, print_diff

        compared = print_diff(plan, made, scenario, json) if plan else None
        print_benchmark(made, compared, json)
    except (PlanError, ReplayError) as error:
        raise ConfigError(str(error)) from error
    raise typer.Exit(0 if made["complete"] else INTERRUPTED)


def _stored(api: str | None, settings: Any, asked: dict[str, Any], first: int, count: int | None) -> Schedule:
    """The schedule of a store's requests, read page by page."""
    from analyzer.cli.client import connect

    with connect(api, settings) as client:
        window = client.get("/slo", **asked)["window"]
        asked = asked | {"from_": window["from"], "to": window["to"]}
        found: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = client.get("/requests", limit=1000, cursor=cursor, **asked)
            found += page["requests"]
            cursor = page["next_cursor"]
            if not cursor:
                break
    return of_requests(found, f"{window['from']} to {window['to']}", first, count)


def _run(
    schedule: Schedule,
    target: Target,
    ids: bool,
    pace: Pace,
    objective: Objective,
    seed: int,
    said: dict[str, str | None],
    console: Console,
) -> dict[str, Any]:
    console.print(
        f"{len(schedule.planned):,} requests over {schedule.span_s / pace.speed:,.1f} s to {target.model}"
        + (f"; {schedule.left_out:,} left out, whose lengths are not known" if schedule.left_out else "")
    )
    started = datetime.now(UTC)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("replaying", total=len(schedule.planned))

        def progress(sent: int, _: int, under_way: int) -> None:
            bar.update(task, completed=sent, description=f"replaying, {under_way} under way")

        lengths, run = uvloop.run(_replay(schedule, target, ids, pace, seed, progress))
    return benchmark(schedule, run, target, lengths, pace, objective, said, started, datetime.now(UTC))


async def _replay(
    schedule: Schedule, target: Target, ids: bool, pace: Pace, seed: int, progress: Any
) -> tuple[Lengths, Run]:
    lengths = await calibrate(target, ids, seed)
    replayer = Replayer(target, lengths, pace, seed)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, replayer.stop)
    return lengths, await replayer.run(schedule, progress)


def _plan(path: Path) -> Any:
    """The planning receipt in a file. Raises ConfigError naming the file and the field."""
    from pydantic import ValidationError

    from analyzer.plan.receipt_model import Receipt

    try:
        return Receipt.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"--diff {path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise ConfigError(f"--diff {path}: {place}: {first['msg']}; expected a plan's receipt") from error


def _write(path: Path, made: dict[str, Any]) -> None:
    try:
        path.write_text(json_module.dumps(made, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--receipt {path}: cannot be written: {error.strerror}") from error
