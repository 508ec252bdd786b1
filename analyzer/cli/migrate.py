"""`pdscope migrate`."""

from typing import Annotated, Any

import typer

from analyzer.cli.options import with_settings


@with_settings("data", "store")
def migrate(
    settings: Any,
    apply: Annotated[bool, typer.Option("--apply", help="Apply it, after showing it.")] = False,
    allow_destructive: Annotated[
        bool, typer.Option("--allow-destructive", help="Also apply what can lose stored data.")
    ] = False,
    row_policies: Annotated[
        bool, typer.Option("--row-policies", help="The row policies of a server instead of its schema.")
    ] = False,
) -> None:
    """Show the SQL by which a store would be brought to this release's schema; with --apply, run it.

    \b
    Examples:
      pdscope migrate --store clickhouse://pdscope:…@clickhouse:8123/pdscope
      pdscope migrate --store … --apply
      pdscope migrate --store … --row-policies   # tenants that read the server directly
    """
    from collector.store.maintenance import Maintenance

    with Maintenance(settings.store or str(settings.data)) as store:
        if row_policies:
            _row_policies(store, apply)
            return
        steps = store.pending()
        for step in steps:
            print(f"-- {step.number:04d} {step.name}{_warning(step.words)}")
            print("\n".join(f"{sql};" for sql in step.statements), end="\n\n")
        if not steps:
            print("-- the store has this release's schema")
        elif apply:
            print(f"-- {store.migrate(allow_destructive)} applied")
        else:
            print(f"-- {len(steps)} to apply; run again with --apply")


def _row_policies(store: Any, apply: bool) -> None:
    statements = store.row_policies()
    print("\n".join(f"{sql};" for sql in statements), end="\n\n")
    for sql in statements if apply else ():
        store.command(sql)
    print(
        f"-- {len(statements)} applied" if apply else "-- to run it: --apply, as a user that manages access"
    )


def _warning(words: str | None) -> str:
    return f"  -- can lose data: {words}; needs --allow-destructive" if words else ""
