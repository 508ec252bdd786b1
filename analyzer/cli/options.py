"""Makes command line options of the settings table."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from collector.settings import SETTINGS, Setting, Settings, resolve

ApiOption = Annotated[
    str | None,
    typer.Option(
        "--api", metavar="URL", help="REST address of a running pdscope; default: the one that holds --data."
    ),
]
TokenOption = Annotated[
    str | None, typer.Option(envvar="PDSCOPE_TOKEN", show_envvar=True, hidden=True, help="Bearer token.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of tables.")]


def with_settings(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of some settings and call it with the resolved Settings first."""
    chosen = [setting for setting in SETTINGS if setting.name in names]

    def wrap(run: Callable[..., None]) -> Callable[..., None]:
        def command(**values: Any) -> None:
            flags = {setting.name: values.pop(setting.name) for setting in chosen}
            run(resolve(flags, config=values.pop("config")), **values)

        own = list(inspect.signature(run).parameters.values())[1:]
        parameters = [*own, *(_parameter(setting) for setting in chosen), _config()]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        command.__name__ = run.__name__
        command.__doc__ = run.__doc__
        return command

    return wrap


def settings_of(data: Path | None, token: str | None) -> Settings:
    """Settings for a command that only asks: where the data lies and how to be let in."""
    return resolve({"data": str(data) if data else None, "token": token})


def _parameter(setting: Setting) -> inspect.Parameter:
    default = "" if setting.default is None else f" Default {setting.default}."
    option = typer.Option(
        setting.flag,
        metavar=setting.unit.upper(),
        help=f"{setting.help}{default} [{setting.env}]",
        show_default=False,
    )
    return inspect.Parameter(
        setting.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option]
    )


def _config() -> inspect.Parameter:
    option = typer.Option("--config", envvar="PDSCOPE_CONFIG", metavar="PATH", help="YAML file of settings.")
    return inspect.Parameter(
        "config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[Path | None, option]
    )
