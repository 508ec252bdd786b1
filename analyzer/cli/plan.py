"""`pdscope plan` and `pdscope receipt`: what-if planning, and checking its receipts; figures are modelled."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from analyzer.cli import plan_tables as tables
from analyzer.cli.plan_shared import (
    errors,
    facts_of,
    progress_bar,
    receipt_path,
    requests_path,
    write_receipt,
)
from analyzer.cli.plan_whatif import backtest, whatif
from analyzer.plan.demand import demands
from analyzer.plan.deployment import template
from analyzer.plan.errors import BadPlan, BadReceipt
from analyzer.plan.evaluate import Contract, grid
from analyzer.plan.kv_cost import KvFormat, Sharding, bytes_per_token, rank_bytes_per_token
from analyzer.plan.layout import parse_layout, parse_loss
from analyzer.plan.model_config import read_model_config
from analyzer.plan.outcome import Objective, Window
from analyzer.plan.receipt import Source, build_receipt
from analyzer.plan.sizing import check, levers
from analyzer.plan.sweep import sweep as run_sweep
from analyzer.plan.trace_files import read_trace
from analyzer.plan.verify import trace_files_named, verify
from analyzer.plan.workload import Synthetic, Workload

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
app.callback()(whatif)
app.command()(backtest)
receipt_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Topology receipts.")

DEFAULT_LAYOUTS = ["4x512", "4x2048", "1P+3D", "2P+2D", "3P+1D"]

DeploymentOption = Annotated[
    Path | None,
    typer.Option(
        "--deployment",
        help="Model, hardware and link as YAML; see `pdscope plan deployment`.",
        dir_okay=False,
    ),
]
RateOption = Annotated[
    list[float] | None, typer.Option("--rate", help="Requests/s, Poisson; repeat to compare. Default 8.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of the synthetic workload.")]
SecondsOption = Annotated[float, typer.Option("--seconds", help="Length of the synthetic workload.")]
TraceOption = Annotated[
    Path | None,
    typer.Option("--trace", help="Azure .csv or Mooncake .jsonl instead of --rate; arrivals are kept."),
]
CacheOption = Annotated[bool, typer.Option(help="Count prompt blocks a trace has shown before as cached.")]
TtftOption = Annotated[float, typer.Option("--ttft", help="TTFT objective in seconds.")]
TpotOption = Annotated[float, typer.Option("--tpot-ms", help="TPOT objective in milliseconds.")]
TargetOption = Annotated[float, typer.Option("--attainment", help="Share of requests that must meet both.")]
CeilingOption = Annotated[float, typer.Option("--ceiling", help="Utilisation at which a pool is refused.")]
LayoutOption = Annotated[
    list[str] | None,
    typer.Option("--layout", help="4x512 (4 colocated, chunk 512) or 1P+3D; repeat to compare."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
ReferenceOption = Annotated[
    bool,
    typer.Option(
        "--reference-compatible", help="Context book-keeping of the reference model: one token short."
    ),
]

LoseOption = Annotated[
    list[str] | None,
    typer.Option(
        "--lose", help="Lose a worker: POOL:WORKER:AT_S[:BACK_S], for example decode:0:60:120; repeat."
    ),
]


@dataclass(frozen=True)
class _Traffic:
    workloads: list[tuple[Workload, Source]]
    window: Window


def _traffic(
    rates: list[float] | None, seed: int, seconds: float, trace: Path | None, cache: bool
) -> _Traffic:
    """The offered traffic; its first and last eighth are not measured."""
    if trace is not None:
        if rates:
            raise BadPlan("--rate and --trace are both given; a trace has its own rate")
        workload = read_trace(trace, prefix_cache=cache)
        sources = [(workload, Source.trace(trace.name, trace.read_bytes(), cache))]
        seconds = workload.span_s
    else:
        specs = [Synthetic(rate, seed=seed, until_s=seconds) for rate in dict.fromkeys(rates or [8.0])]
        sources = [(spec.draw(), Source.synthetic(spec)) for spec in specs]
    return _Traffic(sources, Window(seconds / 8, seconds * 7 / 8))


@app.command()
def simulate(
    layout: LayoutOption = None,
    rate: RateOption = None,
    seconds: SecondsOption = 240.0,
    seed: SeedOption = 7,
    trace: TraceOption = None,
    prefix_cache: CacheOption = True,
    deployment: DeploymentOption = None,
    ttft: TtftOption = 2.0,
    tpot_ms: TpotOption = 12.0,
    attainment: TargetOption = 0.95,
    ceiling: CeilingOption = 0.85,
    reference_compatible: ReferenceOption = False,
    lose: LoseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate layouts step by step and show TTFT, TPOT and attainment.

    \b
    Examples:
      pdscope plan simulate --rate 8 --rate 16 --rate 24
      pdscope plan simulate --layout 4x512 --layout 2P+2D --trace AzureLLMInferenceTrace_conv.csv
    """
    with errors():
        traffic = _traffic(rate, seed, seconds, trace, prefix_cache)
        facts, _ = facts_of(deployment)
        contract = Contract(Objective(ttft, tpot_ms / 1000), attainment, ceiling, traffic.window)
        layouts = [parse_layout(text) for text in dict.fromkeys(layout or DEFAULT_LAYOUTS)]
        losses = tuple(parse_loss(text) for text in lose or [])
        settings = replace(facts.settings(exact=not reference_compatible), losses=losses)
        with progress_bar(not as_json, "simulating") as progress:
            workloads = [workload for workload, _ in traffic.workloads]
            found = run_sweep(workloads, layouts, settings, contract, progress)
        tables.show_evaluations(found, contract, as_json)


@app.command()
def size(
    layout: LayoutOption = None,
    rate: RateOption = None,
    seconds: SecondsOption = 240.0,
    seed: SeedOption = 7,
    trace: TraceOption = None,
    prefix_cache: CacheOption = True,
    deployment: DeploymentOption = None,
    tpot_ms: TpotOption = 12.0,
    ceiling: CeilingOption = 0.85,
    as_json: JsonOption = False,
) -> None:
    """Check that every pool serves more than it is offered: at the mean, at p95 and in bursts.

    Prints utilisation, the dominant queue and the input that moves it most; no percentile, as arithmetic
    has none. Exit code 1 when every layout is refused.

    \b
    Example:
      pdscope plan size --layout 1P+3D --layout 2P+2D --rate 16
    """
    with errors():
        traffic = _traffic(rate, seed, seconds, trace, prefix_cache)
        facts, _ = facts_of(deployment)
        settings, room = facts.settings(), facts.kv_room.tokens
        found: list[tables.Sized] = []
        for text in dict.fromkeys(layout or DEFAULT_LAYOUTS):
            plan = parse_layout(text)
            for workload, _ in traffic.workloads:
                load = demands(workload)
                checks = [check(plan, demand, settings, tpot_ms / 1000, ceiling) for demand in load]
                moved = levers(plan, load[0], settings, tpot_ms / 1000)
                found.append(tables.Sized(workload.origin, checks, moved[0]))
        tables.show_sizes(found, room, as_json)
    if all(sized.refused for sized in found):
        raise typer.Exit(1)


@app.command()
def sweep(
    workers: Annotated[int, typer.Option(help="Instances of every layout compared.")] = 4,
    chunk: Annotated[
        list[int] | None, typer.Option(help="Colocated chunk budgets; repeat. Default 512, 2048.")
    ] = None,
    layout: LayoutOption = None,
    rate: RateOption = None,
    seconds: SecondsOption = 240.0,
    seed: SeedOption = 7,
    trace: TraceOption = None,
    prefix_cache: CacheOption = True,
    deployment: DeploymentOption = None,
    ttft: TtftOption = 2.0,
    tpot_ms: TpotOption = 12.0,
    attainment: TargetOption = 0.95,
    ceiling: CeilingOption = 0.85,
    receipt: Annotated[
        Path | None, typer.Option(help="Write a topology receipt here, and its CSV beside it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare every layout of equal accelerators, on all cores: colocated chunks and all pool ratios.

    \b
    Examples:
      pdscope plan sweep --workers 4 --rate 8 --rate 16 --rate 24 --receipt plan.json
      pdscope plan sweep --workers 6 --chunk 512 --chunk 1024 --trace mooncake_conversation_trace.jsonl
    """
    with errors():
        if receipt is not None:
            receipt_path(receipt)
        traffic = _traffic(rate, seed, seconds, trace, prefix_cache)
        facts, by = facts_of(deployment)
        contract = Contract(Objective(ttft, tpot_ms / 1000), attainment, ceiling, traffic.window)
        layouts = grid(workers, tuple(dict.fromkeys(chunk or [512, 2048])))
        layouts += [extra for text in layout or [] if (extra := parse_layout(text)) not in layouts]
        workloads = [workload for workload, _ in traffic.workloads]
        settings = facts.settings()
        with progress_bar(not as_json, "sweeping") as progress:
            found = run_sweep(workloads, layouts, settings, contract, progress)
        if receipt is not None:
            written = datetime.now(UTC).isoformat(timespec="seconds")
            made = build_receipt(found, traffic.workloads, settings, contract, facts.inputs(by), written)
            write_receipt(receipt, *made)
        tables.show_evaluations(found, contract, as_json)


@app.command()
def kv(
    config: Annotated[Path, typer.Argument(help="A model's config.json.")],
    dtype: Annotated[str, typer.Option(help="KV dtype.")] = "bfloat16",
    tensor: Annotated[int, typer.Option(help="Tensor-parallel ranks.")] = 1,
    pipeline: Annotated[int, typer.Option(help="Pipeline stages.")] = 1,
    context: Annotated[int, typer.Option(help="Context-parallel ranks.")] = 1,
    parameters: Annotated[
        float | None,
        typer.Option(help="Parameters active per token, for the prefill time; 70.6e9, for example."),
    ] = None,
    deployment: DeploymentOption = None,
    as_json: JsonOption = False,
) -> None:
    """KV bytes per token of a model, and its hand-off against recomputing on the deployment's link.

    \b
    Examples:
      pdscope plan kv config.json --parameters 70.6e9
      pdscope plan kv config.json --dtype fp8 --tensor 8
    """
    with errors():
        shape, kv_format = read_model_config(config), KvFormat(dtype)
        facts, _ = facts_of(deployment)
        if parameters is None and deployment is not None:
            parameters = facts.parameters
        facts = replace(facts.with_model(shape, kv_format), parameters=parameters or facts.parameters)
        rank = rank_bytes_per_token(shape, kv_format, Sharding(tensor, pipeline, context))
        known = parameters is not None
        tables.show_kv(shape, bytes_per_token(shape, kv_format), rank, facts.settings(), known, as_json)


@app.command("deployment")
def show_deployment() -> None:
    """Print the default deployment as YAML, to edit and pass with --deployment.

    \b
    Example:
      pdscope plan deployment > deployment.yaml
    """
    typer.echo(template(), nl=False)


@receipt_app.callback()
def receipts() -> None:
    """Check topology receipts."""  # with a callback a lone command keeps its name


@receipt_app.command("verify")
def verify_file(
    file: Annotated[Path, typer.Argument(help="The receipt, JSON.")],
    matrix: Annotated[Path | None, typer.Option(help="Its CSV; default: the same name with .csv.")] = None,
    requests: Annotated[
        Path | None, typer.Option(help="Its requests; default: the same name with .requests.csv.gz.")
    ] = None,
    trace: Annotated[
        list[Path] | None,
        typer.Option(help="Trace files its workloads were read from; default: beside it, by name."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Work a receipt's figures out again, by other code than wrote them.

    Exit code 0: verified. 1: rejected, with the reasons. 3: nothing wrong found, not all checked.

    \b
    Examples:
      pdscope receipt verify plan.json
      pdscope receipt verify plan.json --trace traces/mooncake_conversation_trace.jsonl
    """
    with errors():
        text = _text(file)
        beside = matrix or file.with_suffix(".csv")
        table = _text(beside) if matrix is not None or beside.exists() else None
        carried = requests or next((p for p in _carried(file) if p.exists()), None)
        traces = {}
        for path in trace or _traces_beside(file, text):
            workload = read_trace(path)
            rows = zip(workload.arrival_s, workload.prompt, workload.output, workload.cached, strict=True)
            sealed: str = Source.trace(path.name, path.read_bytes(), True).fields["sha256"]
            traces[sealed] = list(rows)
        with progress_bar(not as_json, "verifying") as progress:
            findings = verify(text, table, traces, progress, _bytes(carried) if carried else None)
    tables.show_findings(file, findings, as_json)
    raise typer.Exit({"verified": 0, "rejected": 1, "incomplete": 3}[findings.status])


def _carried(file: Path) -> list[Path]:
    """Where the requests of a receipt may lie, packed or not."""
    packed = requests_path(file)
    return [packed, packed.with_suffix("")]


def _traces_beside(file: Path, text: str) -> list[Path]:
    """Trace files that a receipt names and that lie beside it."""
    found = (file.with_name(name) for name in trace_files_named(text))
    return [path for path in found if path.is_file()]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadReceipt(f"{path}: cannot be read: {error.strerror}") from error


def _text(path: Path) -> str:
    try:
        return _bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadReceipt(f"{path}: is not UTF-8 text: {error.reason}") from error
