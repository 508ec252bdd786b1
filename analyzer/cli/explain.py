"""`pdscope explain ID`."""

from pathlib import Path
from typing import Annotated

import typer

from analyzer.cli.options import ApiOption, JsonOption, TokenOption, settings_of


def explain(
    id_: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="Key, request id, client request id, trace id or answer id of a request."
        ),
    ],
    json: JsonOption = False,
    api: ApiOption = None,
    data: Annotated[Path | None, typer.Option(metavar="PATH", help="Data directory [PDSCOPE_DATA]")] = None,
    token: TokenOption = None,
) -> None:
    """Draw one request's timeline: what it waited for until its first token, and what is not known.

    \b
    Examples:
      pdscope explain chatcmpl-7f3a
      pdscope explain 4bf92f3577b34da6a3ce929d0e0e4736 --json
    """
    from analyzer.cli.client import connect
    from analyzer.cli.errors import CommandError

    with connect(api, settings_of(data, token)) as client:
        found = client.find(id_)
    if json:
        from json import dumps

        print(dumps(found, indent=2))
        return
    if "requests" in found:
        keys = ", ".join(f"{item['key']} ({item['started_at'][:19]}Z)" for item in found["requests"])
        raise CommandError(f"{len(found['requests'])} requests bear {id_}; explain one by its key: {keys}")
    from analyzer.cli.waterfall import print_request

    print_request(found)
