"""`pdscope plan --from … --to …`: what-if on stored requests or a trace; `pdscope plan backtest`."""

import json
import time
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from analyzer.cli.options import ApiOption, JsonOption, TokenOption, settings_of
from analyzer.cli.plan_answer import show_answer, show_backtest
from analyzer.cli.plan_shared import errors, facts_of, progress_bar, receipt_path, write_receipt
from analyzer.plan.errors import BadPlan

POLL_S = 0.3

Time = Annotated[str | None, typer.Option(metavar="TIME", help="RFC 3339 or Unix seconds.")]
Label = Annotated[str | None, typer.Option(help="Only requests with this label.")]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="TIME", help="Replay stored requests from here: RFC 3339 or Unix seconds."
    ),
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="PATH", help="Data directory [PDSCOPE_DATA]")
]
WorkersOption = Annotated[
    int | None, typer.Option(help="Instances of the largest layouts. Default: as many as served.")
]
ChunkOption = Annotated[
    list[int] | None, typer.Option(help="Colocated chunk budgets; repeat. Default 512, 2048.")
]
ServedOption = Annotated[
    int | None, typer.Option("--served-chunk", help="Chunk budget that colocated workers served with.")
]
TtftOption = Annotated[float | None, typer.Option(help="TTFT objective in seconds. Default: as configured.")]
TpotOption = Annotated[
    float | None, typer.Option("--tpot-ms", help="TPOT objective in milliseconds. Default: as configured.")
]
AttainmentOption = Annotated[
    float | None, typer.Option(help="Share of requests that must meet both. Default: as configured.")
]
CeilingOption = Annotated[float, typer.Option(help="Utilisation at which a pool is refused.")]
DeploymentOption = Annotated[
    Path | None,
    typer.Option(
        help="What telemetry does not tell, as YAML; see `pdscope plan deployment`.", dir_okay=False
    ),
]
BudgetOption = Annotated[int, typer.Option("--prefill-budget", help="Step budget of prefill workers.")]


def whatif(
    context: typer.Context,
    from_: FromOption = None,
    to: Time = None,
    model: Label = None,
    tenant: Label = None,
    route: Label = None,
    cohort: Label = None,
    trace: Annotated[
        Path | None, typer.Option(help="Replay an Azure .csv or Mooncake .jsonl instead; declared constants.")
    ] = None,
    prefix_cache: Annotated[
        bool, typer.Option(help="Count prompt blocks a trace has shown as cached.")
    ] = True,
    workers: WorkersOption = None,
    chunk: ChunkOption = None,
    prefill_budget: BudgetOption = 16_384,
    served_chunk: ServedOption = None,
    headroom: Annotated[float, typer.Option(help="More requests that must still be served.")] = 0.15,
    reserve: Annotated[float, typer.Option(help="What a hand-off must leave of TTFT less prefill.")] = 0.5,
    degraded: Annotated[bool, typer.Option(help="Also with one worker or the link lost.")] = True,
    deployment: DeploymentOption = None,
    ttft: TtftOption = None,
    tpot_ms: TpotOption = None,
    attainment: AttainmentOption = None,
    ceiling: CeilingOption = 0.85,
    receipt: Annotated[
        Path | None, typer.Option(help="Write the topology receipt here, and its CSV.")
    ] = None,
    plots: Annotated[Path | None, typer.Option(help="Write the plots into this directory, as SVG.")] = None,
    as_json: JsonOption = False,
    api: ApiOption = None,
    data: DataOption = None,
    token: TokenOption = None,
) -> None:
    """What-if on observed traffic: which layout meets the objectives, and what to do. Modelled, and says so.

    The stored arrivals, lengths and cache hits are replayed through a model calibrated on the same requests,
    for a grid of layouts: colocated chunk budgets, ratios of prefill to decode, one worker or the link lost.
    A calibration that does not fit recommends nothing (exit code 1, as when no layout will do).

    \b
    Examples:
      pdscope plan --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z --receipt plan.json
      pdscope plan --from 1769860800 --model llama-70b --workers 6 --chunk 512 --chunk 1024 --plots plots/
      pdscope plan --trace mooncake_conversation_trace.jsonl --workers 4
    """
    if context.invoked_subcommand is not None:
        if from_ or trace:
            raise typer.BadParameter(f"give --from or --trace without {context.invoked_subcommand}")
        return
    if from_ is None and to is None and trace is None:
        sources = [context.get_parameter_source(name) for name in context.params]
        if any(source is not None and source.name == "COMMANDLINE" for source in sources):
            raise typer.BadParameter("what traffic? give --from and --to of stored requests, or --trace")
        print(context.get_help())
        raise typer.Exit
    grid: dict[str, Any] = {
        "workers": workers, "chunks": list(dict.fromkeys(chunk or [512, 2048])),
        "prefill_budget": prefill_budget, "headroom": headroom, "reserve": reserve, "degraded": degraded,
    }  # fmt: skip
    tpot = None if tpot_ms is None else tpot_ms / 1000
    objective = {"ttft": ttft, "tpot": tpot, "target": attainment, "ceiling": ceiling}
    with errors():
        if receipt is not None:
            receipt_path(receipt)
        if trace is not None:
            if from_ or to:
                raise BadPlan("--trace and --from/--to are both given; a trace has its own arrivals")
            answer, made = _on_trace(trace, prefix_cache, grid, objective, deployment, as_json)
        else:
            labels = {"model": model, "tenant": tenant, "route": route, "cohort": cohort}
            scope = {"from": from_, "to": to, **labels}
            ask = {"scope": scope, "grid": grid, "objective": objective, "served_chunk": served_chunk}
            ask["deployment"] = _declared(deployment)
            answer, made = _asked(ask, api, settings_of(data, token), as_json)
        if receipt is not None and made is not None:
            write_receipt(receipt, *made)
        if plots is not None:
            _write_plots(plots, answer)
    show_answer(answer, as_json)
    if not answer["recommendation"] or not answer["recommendation"]["layout"]:
        raise typer.Exit(1)


def backtest(
    from_: FromOption = None,
    to: Time = None,
    against_from: Annotated[
        str | None, typer.Option(metavar="TIME", help="Predict the requests from here …")
    ] = None,
    against_to: Annotated[str | None, typer.Option(metavar="TIME", help="… to here.")] = None,
    model: Label = None,
    cohort: Label = None,
    against_cohort: Annotated[str | None, typer.Option(help="Cohort to predict. Default: --cohort.")] = None,
    served_chunk: ServedOption = None,
    prefill_budget: BudgetOption = 16_384,
    deployment: DeploymentOption = None,
    ttft: TtftOption = None,
    tpot_ms: TpotOption = None,
    seconds: Annotated[
        float, typer.Option(help="Without --from: length of each simulated deployment's traffic.")
    ] = 240.0,
    as_json: JsonOption = False,
    api: ApiOption = None,
    data: DataOption = None,
    token: TokenOption = None,
) -> None:
    """Calibrate on one window, predict another with its own layout and arrivals, and say the error.

    Without a window, simulated deployments stand in for real ones: each emits telemetry into a store of its
    own, the model is calibrated on what is stored, and other ratios and rates are predicted.

    \b
    Examples:
      pdscope plan backtest
      pdscope plan backtest --from 1769860800 --to 1769864400 \\
          --against-from 1769864400 --against-to 1769868000
    """
    tpot = None if tpot_ms is None else tpot_ms / 1000
    with errors():
        if from_ is None and to is None:
            from analyzer.plan.simulated_backtest import simulated_backtests
            from collector.store import Store

            store = Store.open(":memory:")
            with closing(store), progress_bar(not as_json, "backtesting") as progress:
                found = simulated_backtests(store, seconds, progress)
        else:
            other = {"from": against_from, "to": against_to, "cohort": against_cohort or cohort}
            ask = {
                "scope": {"from": from_, "to": to, "cohort": cohort, "model": model},
                "against": {**other, "model": model},
                "objective": {"ttft": ttft, "tpot": tpot},
                "grid": {"prefill_budget": prefill_budget},
                "deployment": _declared(deployment),
                "served_chunk": served_chunk,
            }
            found = [_asked(ask, api, settings_of(data, token), as_json)[0]]
    show_backtest(found, as_json)
    if any(item["refused"] for item in found):
        raise typer.Exit(1)


def _declared(path: Path | None) -> dict[str, Any]:
    """The fields of a deployment file; none without one."""
    from dataclasses import asdict

    return {} if path is None else asdict(facts_of(path)[0])


Made = tuple[dict[str, Any], str, bytes | None]
"""The receipt, its matrix and, of stored traffic, the requests it was made from."""


def _asked(
    ask: dict[str, Any], api: str | None, settings: Any, quiet: bool
) -> tuple[dict[str, Any], Made | None]:
    """Ask a pdscope over REST and wait, with progress; the answer and the receipt, where there is one."""
    from analyzer.cli.client import connect
    from analyzer.cli.errors import CommandError

    with connect(api, settings) as client, progress_bar(not quiet, "planning") as progress:
        plan = client.post("/plan", ask)
        announced = False
        while plan["state"] in ("waiting", "running"):
            if plan["announcement"] and not announced:
                announced = True
                _announce(plan["announcement"], quiet)
            if plan["of"]:
                progress(plan["done"], plan["of"])
            time.sleep(POLL_S)
            plan = client.get(f"/plan/{plan['id']}")
        if plan["state"] == "failed":
            raise CommandError(plan["error"])
        answer = plan["answer"]
        if not answer.get("scenarios"):
            return answer, None
        place = f"/plan/{plan['id']}/receipt"
        receipt, matrix = client.get(f"{place}.json"), client.text(f"{place}.csv")
        return answer, (receipt, matrix, client.content(f"{place}.requests.csv.gz"))


def _announce(line: str, quiet: bool) -> None:
    if not quiet:
        Console(stderr=True).print(line, highlight=False)


def _on_trace(
    path: Path,
    cache: bool,
    grid: dict[str, Any],
    objective: dict[str, Any],
    deployment: Path | None,
    quiet: bool,
) -> tuple[dict[str, Any], Made | None]:
    """The what-if on a trace file, in this process, with declared constants."""
    from analyzer.plan.observed_plan import Asked, plan_workload
    from analyzer.plan.outcome import Objective, Window
    from analyzer.plan.receipt import Source
    from analyzer.plan.trace_files import read_trace
    from analyzer.plan.whatif import Grid

    workload = read_trace(path, prefix_cache=cache)
    facts, by = facts_of(deployment)
    target = 0.95 if objective["target"] is None else objective["target"]
    promise = Objective(_or(objective["ttft"], 2.0), _or(objective["tpot"], 0.012))
    sizes = {
        **grid,
        "workers": 4 if grid["workers"] is None else grid["workers"],
        "chunks": tuple(grid["chunks"]),
    }
    asked = Asked(promise, target, objective["ceiling"], Grid(**sizes), facts=facts, by=by)
    window = Window(workload.span_s / 8, workload.span_s * 7 / 8)
    source = Source.trace(path.name, path.read_bytes(), cache)
    written = datetime.now(UTC).isoformat(timespec="seconds")
    with progress_bar(not quiet, "planning") as progress:
        result = plan_workload(
            workload, source, facts.settings(), facts.inputs(by), facts.accelerators, asked,
            asked.contract(window), written, progress, partial(_announce, quiet=quiet),
        )  # fmt: skip
    return json.loads(json.dumps(result.document)), (*result.receipt, None) if result.receipt else None


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _write_plots(directory: Path, answer: dict[str, Any]) -> None:
    from analyzer.plan.plots import PLOTS

    if not answer.get("scenarios"):
        return
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, draw in PLOTS.items():
            (directory / f"{name}.svg").write_text(draw(answer, 800).svg(), encoding="utf-8")
    except OSError as error:
        raise BadPlan(f"{directory}: plots cannot be written: {error.strerror}") from error
    Console(stderr=True).print(
        f"wrote {', '.join(f'{n}.svg' for n in PLOTS)} into {directory}", highlight=False
    )
