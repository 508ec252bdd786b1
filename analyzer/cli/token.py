"""`pdscope token`."""

from typing import Annotated

import typer

from analyzer.cli.options import JsonOption


def token(
    tenant: Annotated[str, typer.Argument(help="Name the tenant's requests are counted under.")],
    json: JsonOption = False,
) -> None:
    """Make a token for a tenant's senders: the token, and its hash for the file of --tenant-tokens.

    The token is shown this once and kept nowhere.

    \b
    Example:
      pdscope token acme
    """
    from collector.receive.access import new_token

    secret, hashed = new_token()
    if json:
        from json import dumps

        print(dumps({"tenant": tenant, "token": secret, "hash": hashed}))
        return
    from json import dumps

    print(f"token, for the sender's `Authorization: Bearer …`:\n  {secret}")
    print(f"line for the tokens file:\n  {dumps(tenant)}: {hashed}")
