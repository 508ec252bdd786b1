"""`pdscope import PATH…`."""

from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from analyzer.cli.options import ApiOption, JsonOption, TokenOption, settings_of


def import_(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="Captures, telemetry files, or directories of them.")],
    json: JsonOption = False,
    api: ApiOption = None,
    data: Annotated[Path | None, typer.Option(metavar="PATH", help="Data directory [PDSCOPE_DATA]")] = None,
    token: TokenOption = None,
) -> None:
    """Load captures and files into a running pdscope, or into the data directory when none runs.

    \b
    Reads OTLP protobuf (one export, or framed), OTLP JSON lines (as the OpenTelemetry Collector's file
    exporter writes them), tar archives of export bodies, and Dynamo request traces.

    \b
    Examples:
      pdscope import captures/baseline
      pdscope import trace.jsonl --api http://10.0.0.7:8080
    """
    from analyzer.cli.client import connect, expand
    from analyzer.cli.errors import CommandError

    files = expand(paths)
    if not files:
        raise CommandError("no files to import there")
    with connect(api, settings_of(data, token), create=True) as client:
        outcomes = _import_all(client, files, quiet=json)
    if json:
        from json import dumps

        print(dumps({"files": outcomes}, indent=2))
    else:
        _print(outcomes)
    failed = [outcome for outcome in outcomes if outcome["error"]]
    # Other files beside the telemetry of a directory are no failure; a file asked for by name is.
    named = {str(path) for path in paths}
    if len(failed) == len(outcomes) or any(outcome["file"] in named for outcome in failed):
        raise CommandError(f"{len(failed)} of {len(outcomes)} files were not imported: {failed[0]['file']}: {failed[0]['error']}")


def _import_all(client: Any, files: list[Path], quiet: bool) -> list[dict[str, Any]]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=quiet) as progress:
        task = progress.add_task("importing", total=sum(path.stat().st_size for path in files))
        return [_import_one(client, path, lambda sent: progress.advance(task, sent)) for path in files]


def _import_one(client: Any, path: Path, sent: Any) -> dict[str, Any]:
    """Outcome of one file: the server's report, or `error`."""
    from analyzer.cli.errors import CommandError
    from collector.errors import ConfigError

    nothing = {"format": None, "records": 0, "stored": 0, "refused": {}, "notes": []}
    try:
        with path.open("rb") as file:
            body = _Counted(file, sent)
            answer = client.post_file("/import", body, path.stat().st_size, name=path.name)
    except CommandError as error:
        return {"file": str(path), **nothing, "error": str(error)}
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    answer.pop("name")
    return {"file": str(path), **answer, "error": None}


class _Counted:
    """A file that tells how much of it was read."""

    def __init__(self, file: BinaryIO, sent: Any):
        self._file = file
        self._sent = sent

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._sent(len(data))
        return data


def _print(outcomes: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="What became of every record", title_justify="left")
    table.add_column("file", overflow="fold")
    table.add_column("format")
    for name in ("records", "stored"):
        table.add_column(name, justify="right")
    table.add_column("not stored")
    for outcome in outcomes:
        refused = ", ".join(f"{count:,} {reason}" for reason, count in outcome["refused"].items())
        remarks = "; ".join(filter(None, [outcome["error"], refused, *outcome["notes"]]))
        style = "red" if outcome["error"] else None
        table.add_row(
            outcome["file"], outcome["format"] or "–", f"{outcome['records']:,}", f"{outcome['stored']:,}", remarks, style=style
        )
    if len(outcomes) > 1:
        totals = (f"{sum(outcome[name] for outcome in outcomes):,}" for name in ("records", "stored"))
        table.add_section()
        table.add_row("all", "", *totals, "")
    Console().print(table)
