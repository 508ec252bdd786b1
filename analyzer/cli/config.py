"""`pdscope config`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from analyzer.cli.options import JsonOption

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Check settings before they are used.")


@app.callback()
def config() -> None:
    """Check settings before they are used."""


@app.command()
def check(
    config: Annotated[
        Path | None,
        typer.Option(
            envvar="PDSCOPE_CONFIG", show_envvar=True, metavar="PATH", help="YAML file of settings."
        ),
    ] = None,
    slo: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="slo.yaml to check instead of the one that the settings name."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Read the settings as `pdscope serve` would here, and every file they name; nothing is started.

    Prints what was given and where, then each problem. Exit code 1 when there is one.

    \b
    Examples:
      pdscope config check --config pdscope.yaml
      pdscope config check --slo slo.yaml
    """
    from collector.settings import misspelt

    shown, problems = _checked(config, slo)
    warnings = misspelt()
    if json:
        from json import dumps

        print(dumps({"ok": not problems, "settings": shown, "problems": problems, "warnings": warnings}))
    else:
        _print(shown, problems, warnings)
    if problems:
        raise typer.Exit(1)


def _checked(config: Path | None, slo: Path | None) -> tuple[list[dict[str, str]], list[str]]:
    """What was given (never a secret), and what is wrong with it."""
    from analyzer.cli.settings_check import problems_of, shown_value
    from collector.errors import ConfigError
    from collector.settings import given, resolve

    flags = {"slo": str(slo) if slo else None}
    try:
        said = given(flags, config=config)
        settings = resolve(flags, config=config)
    except ConfigError as error:
        return [], [str(error)]
    shown = [
        {"setting": name, "value": shown_value(name, settings), "from": source}
        for name, (_, source) in sorted(said.items())
    ]
    return shown, problems_of(settings)


def _print(shown: list[dict[str, str]], problems: list[str], warnings: list[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if shown:
        table: Any = Table("setting", "value", "given by", box=box.SIMPLE_HEAD)
        for row in shown:
            table.add_row(row["setting"], row["value"], row["from"].removesuffix(f": {row['setting']}"))
        console.print(table)
    for text in warnings:
        console.print(f"warning: {text}", soft_wrap=True, markup=False)
    for text in problems:
        console.print(f"problem: {text}", soft_wrap=True, markup=False)
    if not problems:
        console.print("The settings are good.")
