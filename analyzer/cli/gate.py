"""`pdscope gate`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from analyzer.cli.options import ApiOption, JsonOption, TokenOption, settings_of
from analyzer.cli.report import Label, Seconds, Time

EXIT = {"pass": 0, "refuse": 1, "cannot_say": 3}


def gate(
    baseline: Annotated[str, typer.Option(help="Cohort (pd.cohort) that runs today.")],
    candidate: Annotated[str, typer.Option(help="Cohort that is to replace it.")],
    receipt: Annotated[
        Path | None,
        typer.Option(help="Receipt of `pdscope plan`; its .csv is read beside it.", dir_okay=False),
    ] = None,
    benchmark: Annotated[
        list[Path] | None, typer.Option(help="Receipt of `pdscope replay`; repeat.", dir_okay=False)
    ] = None,
    tried: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:COHORT", help="A cohort measured too; chunked-prefill or routing; repeat."
        ),
    ] = None,
    waive: Annotated[
        list[str] | None,
        typer.Option(metavar="LINE", help="A checklist line that need not be shown; repeat."),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0, max=10, help="By how much a latency may exceed its promise.")
    ] = 0.1,
    transfer_budget_ms: Annotated[
        float | None, typer.Option(help="Milliseconds that p95 of the hand-offs may take.")
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Default: an hour before --to.")
    ] = None,
    to: Annotated[str | None, typer.Option(metavar="TIME", help="Default: now.")] = None,
    baseline_from: Time = None,
    baseline_to: Time = None,
    model: Label = None,
    tenant: Label = None,
    route: Label = None,
    ttft: Seconds = None,
    tpot: Seconds = None,
    target: Annotated[float | None, typer.Option(help="Override the target, a fraction.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the answer as Markdown, too.")
    ] = None,
    json: JsonOption = False,
    api: ApiOption = None,
    data: Annotated[Path | None, typer.Option(metavar="PATH", help="Data directory [PDSCOPE_DATA]")] = None,
    token: TokenOption = None,
) -> None:
    """Say whether a candidate cohort may replace the baseline: measured, promised, and by the checklist.

    Exit code 0: pass. 1: refuse. 3: the data cannot say. 2: it could not be asked.

    \b
    Examples:
      pdscope gate --baseline colocated --candidate disaggregated --receipt plan.json
      pdscope gate --baseline colocated --candidate disaggregated --tried chunked-prefill:colocated-512
      pdscope gate --baseline old --candidate new --transfer-budget-ms 40 --waive restarts --markdown gate.md
    """
    from analyzer.cli.client import connect

    body = _body(receipt, benchmark or [])
    asked: dict[str, Any] = {
        "baseline": baseline, "candidate": candidate, "tolerance": tolerance, "tried": tried, "waive": waive,
        "transfer_budget": None if transfer_budget_ms is None else transfer_budget_ms / 1000,
        "from_": from_, "to": to, "baseline_from": baseline_from, "baseline_to": baseline_to,
        "model": model, "tenant": tenant, "route": route, "ttft": ttft, "tpot": tpot, "target": target,
    }  # fmt: skip
    with connect(api, settings_of(data, token)) as client:
        answer = client.post("/gate", body, **asked)
    if markdown:
        _write(markdown, answer)
    if json:
        from json import dumps

        print(dumps(answer, indent=2))
    else:
        from analyzer.cli.gate_tables import print_gate

        print_gate(answer)
    raise typer.Exit(EXIT[answer["verdict"]])


def _body(receipt: Path | None, benchmarks: list[Path]) -> dict[str, Any]:
    body: dict[str, Any] = {"benchmarks": {path.name: _document(path) for path in benchmarks}}
    if receipt is not None:
        body |= {"receipt": _document(receipt), "receipt_name": receipt.name}
        if (matrix := receipt.with_suffix(".csv")).exists():
            body["matrix"] = matrix.read_text(encoding="utf-8")
    return body


def _document(path: Path) -> dict[str, Any]:
    """A receipt's JSON. Raises ConfigError naming the file."""
    from json import JSONDecodeError, loads

    from collector.errors import ConfigError

    try:
        found = loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: is not a receipt: the top level is {type(found).__name__}")
    return found


def _write(path: Path, answer: dict[str, Any]) -> None:
    from analyzer.gate.markdown import markdown
    from collector.errors import ConfigError

    try:
        path.write_text(markdown(answer), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--markdown {path}: cannot be written: {error.strerror}") from error
