"""`pdscope import PATH…`."""

from os.path import commonpath, relpath
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from analyzer.cli.options import ApiOption, JsonOption, TokenOption, settings_of

_MOST_OTHERS = 5


def import_(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH…", help="Captures, telemetry files, or directories of them.")
    ],
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
        # The server names the file by its last part.
        why = failed[0]["error"].removeprefix(f"{Path(failed[0]['file']).name}: ")
        first = f"{failed[0]['file']}: {why}"
        raise CommandError(f"{len(failed)} of {len(outcomes)} files were not imported: {first}")


def _import_all(client: Any, files: list[Path], quiet: bool) -> list[dict[str, Any]]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    disable = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=disable) as progress:
        task = progress.add_task("importing", total=sum(path.stat().st_size for path in files))
        return [_import_one(client, path, lambda sent: progress.advance(task, sent)) for path in files]


def _import_one(client: Any, path: Path, sent: Any) -> dict[str, Any]:
    """Outcome of one file: the server's report, or `error`."""
    from analyzer.cli.errors import CommandError
    from collector.errors import ConfigError

    nothing: dict[str, Any] = {
        "format": None,
        "exports": 0,
        "spans": 0,
        "refused": {},
        "skipped": {},
        "examples": [],
    }
    try:
        with path.open("rb") as file:
            body = _Counted(file, sent)
            answer = client.post_file("/import", body, path.stat().st_size, name=path.name)
    except CommandError as error:
        return {"file": str(path), **nothing, "error": str(error)}
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
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


def _common_directory(outcomes: list[dict[str, Any]]) -> str:
    """The directory that holds several files; empty for a single file."""
    if len(outcomes) < 2:
        return ""
    return commonpath([Path(outcome["file"]).absolute().parent for outcome in outcomes])


def _counted(counts: dict[str, int], what: str) -> list[str]:
    return [f"{count:,} {what}{'' if count == 1 else 's'}: {reason}" for reason, count in counts.items()]


def _print(outcomes: list[dict[str, Any]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    above = _common_directory(outcomes)
    title = f"What became of every span{f' of {above}' if above else ''}"
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for name in ("file", "format"):
        table.add_column(name, overflow="fold")
    for name in ("exports", "spans"):
        table.add_column(name, justify="right")
    table.add_column("not stored", overflow="fold")
    read = [outcome for outcome in outcomes if not outcome["error"]]
    for outcome in read:
        kept_out = [*_counted(outcome["refused"], "span"), *_counted(outcome["skipped"], "record")]
        counts = (f"{outcome[name]:,}" for name in ("exports", "spans"))
        file = relpath(outcome["file"], above) if above else outcome["file"]
        table.add_row(file, outcome["format"], *counts, "; ".join(kept_out))
    if len(read) > 1:
        totals = (f"{sum(outcome[name] for outcome in read):,}" for name in ("exports", "spans"))
        table.add_section()
        table.add_row("all", "", *totals, "")
    console = Console(highlight=False)
    console.print(table)
    others = [outcome for outcome in outcomes if outcome["error"]]
    for outcome in others[:_MOST_OTHERS]:
        console.print(f"not imported: {outcome['file']}: {outcome['error']}", style="dim", soft_wrap=True)
    if len(others) > _MOST_OTHERS:
        console.print(f"… and {len(others) - _MOST_OTHERS} more files that are not telemetry", style="dim")
