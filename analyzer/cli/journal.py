"""`pdscope journal`: what was acknowledged and is not yet stored."""

from pathlib import Path
from typing import Annotated

import typer

from analyzer.cli.options import JsonOption, settings_of

journal = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Show, verify or replay what was acknowledged and is not yet stored.",
)

DataOption = Annotated[Path | None, typer.Option(metavar="PATH", help="Data directory [PDSCOPE_DATA]")]
_KINDS = {1: "traces", 2: "metrics"}


@journal.command()
def show(data: DataOption = None, json: JsonOption = False) -> None:
    """List the journal's files: records by kind, what waits to be stored, what was set aside.

    \b
    Examples:
      pdscope journal show
      pdscope journal show --data /var/lib/pdscope --json
    """
    from collector.journal.inspect import read_journal

    reports = read_journal(_directory(data))
    if json:
        from json import dumps

        print(dumps([_as_json(report) for report in reports], indent=2))
        return
    if not reports:
        print("nothing waits")
    for report in reports:
        records = ", ".join(
            f"{count} {_KINDS.get(kind, f'kind {kind}')}" for kind, count in sorted(report.records.items())
        )
        state = "set aside" if report.aside else f"{report.waiting} wait"
        print(f"{report.file}  {report.size:,} bytes  {report.made_at or '?'}  {records or 'empty'}  {state}")
        for damage in report.damages:
            print(f"  {damage.size} bytes at offset {damage.offset}: {damage.problem}")


@journal.command()
def verify(data: DataOption = None) -> None:
    """Read every record and check it; exit code 1 when one cannot be read.

    \b
    Example:
      pdscope journal verify --data /var/lib/pdscope
    """
    from analyzer.cli.errors import CommandError
    from collector.journal.inspect import read_journal

    reports = read_journal(_directory(data))
    damages = [damage for report in reports for damage in report.damages]
    for damage in damages:
        print(damage)
    records = sum(sum(report.records.values()) for report in reports)
    print(f"{len(reports)} files, {records} whole records, {len(damages)} damaged places")
    if damages:
        raise CommandError("the journal is damaged; what is whole is replayed when pdscope starts")


@journal.command()
def replay(
    file: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="A segment that was set aside, instead of the journal."),
    ] = None,
    data: DataOption = None,
) -> None:
    """Store what the journal holds; pdscope must not run on the same data. Safe to repeat.

    `pdscope serve` does the same when it starts.

    \b
    Examples:
      pdscope journal replay
      pdscope journal replay --file pdscope-data/journal/aside/0000000000000007.pdj
    """
    from prometheus_client import CollectorRegistry

    from collector.errors import StoreError
    from collector.journal import Journal
    from collector.receive.metrics import ReceiveMetrics
    from collector.receive.replay import replay_file, replay_journal
    from collector.store import Store

    settings = settings_of(data, None)
    store = Store.open(settings.data)
    try:
        if file:
            try:
                done = replay_file(file, store)
            except (OSError, ValueError) as error:
                raise StoreError(f"cannot read {file}: {error}") from error
            print(
                f"{done.stored} records stored, {done.refused} refused by the store, "
                f"{done.unreadable} places could not be read"
            )
            return
        waiting = Journal(settings.data / "journal")
        try:
            size = replay_journal(waiting, store, ReceiveMetrics(CollectorRegistry()))
            print(f"{size:,} bytes stored, {len(waiting.damages)} places could not be read")
        finally:
            waiting.close()
    finally:
        store.close()


def _directory(data: Path | None) -> Path:
    return settings_of(data, None).data / "journal"


def _as_json(report: object) -> dict[str, object]:
    from collector.journal.inspect import SegmentReport

    assert isinstance(report, SegmentReport)
    return {
        "file": str(report.file),
        "bytes": report.size,
        "made_at": report.made_at,
        "records": {_KINDS.get(kind, str(kind)): count for kind, count in sorted(report.records.items())},
        "body_bytes": report.body_bytes,
        "waiting": report.waiting,
        "set_aside": report.aside,
        "torn_bytes": report.torn_bytes,
        "damages": [
            {"offset": damage.offset, "bytes": damage.size, "problem": damage.problem}
            for damage in report.damages
        ],
    }
