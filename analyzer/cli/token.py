"""`pdscope token`."""

from typing import Annotated

import typer

from analyzer.cli.options import JsonOption
from collector.tokens import Right


def token(
    tenant: Annotated[
        str, typer.Argument(help="Name the tenant's requests are counted under; '*' for every tenant.")
    ],
    right: Annotated[
        Right,
        typer.Option(help="What the token is for: to send telemetry, to read, or (with '*') all of it."),
    ] = Right.INGEST,
    json: JsonOption = False,
) -> None:
    """Make a token: the token itself, and its hash for the file of --tenant-tokens.

    The token is shown this once and kept nowhere.

    \b
    Examples:
      pdscope token acme
      pdscope token acme --right read
      pdscope token '*' --right read     # Grafana, Prometheus
    """
    from collector.tokens import EVERY_TENANT, new_token

    if not tenant.strip():
        raise typer.BadParameter("give the tenant a name, or '*' for every tenant", param_hint="tenant")
    if right is Right.ADMIN and tenant != EVERY_TENANT:
        raise typer.BadParameter("admin is for every tenant: name '*'", param_hint="--right")

    secret, hashed = new_token()
    if json:
        from json import dumps

        print(dumps({"tenant": tenant, "right": right, "token": secret, "hash": hashed}))
        return
    from json import dumps

    print(f"token, for `Authorization: Bearer …`:\n  {secret}")
    print(f"for the tokens file:\n  {dumps(tenant)}:\n    {right}: {hashed}")
