"""`pdscope doctor`."""

from pathlib import Path
from typing import Annotated

import typer

from analyzer.cli.options import ApiOption, JsonOption, TokenOption, settings_of

Time = Annotated[str | None, typer.Option(metavar="TIME", help="RFC 3339 or Unix seconds; default: now.")]


def doctor(
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="RFC 3339 or Unix seconds; default: an hour before --to."
        ),
    ] = None,
    to: Time = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also what is merely worth knowing, and every signal.")
    ] = False,
    json: JsonOption = False,
    api: ApiOption = None,
    data: Annotated[Path | None, typer.Option(metavar="PATH", help="Data directory [PDSCOPE_DATA]")] = None,
    token: TokenOption = None,
) -> None:
    """Check the telemetry: per system and worker what arrives, what is missing for which answer, and the one
    line of configuration that would bring it; and what arrives and can't be so.

    Exit code 0 when nothing is wrong, 1 when something is, 2 when there is nobody to ask.

    \b
    Examples:
      pdscope doctor
      pdscope doctor --all
      pdscope doctor --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z
      pdscope doctor --json | jq -r '.checks[] | select(.kind == "missing") | .fix'
    """
    from analyzer.cli.client import connect

    with connect(api, settings_of(data, token)) as client:
        answer = client.get("/telemetry", from_=from_, to=to)
    if json:
        from json import dumps

        print(dumps(answer, indent=2))
    else:
        from analyzer.cli.doctor_tables import print_check_up

        print_check_up(answer, every)
    if any(check["severity"] != "info" for check in answer["checks"]):
        raise typer.Exit(1)
