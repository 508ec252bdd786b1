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
) -> None:
    """Show the SQL by which a store would be brought to this release's schema; with --apply, run it.

    \b
    Examples:
      pdscope migrate --store clickhouse://pdscope:…@clickhouse:8123/pdscope
      pdscope migrate --store … --apply
    """
    from collector.store.maintenance import Maintenance

    with Maintenance(settings.store or str(settings.data)) as store:
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


def _warning(words: str | None) -> str:
    return f"  -- can lose data: {words}; needs --allow-destructive" if words else ""
