"""`pdscope dashboards`: build them as files, or push them into a running Grafana."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Grafana dashboards as code.")

OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where files are written.")]
CheckOption = Annotated[
    bool, typer.Option("--check", help="Write nothing; fail if what is there differs from what would be.")
]


@app.command()
def build(out: OutOption = Path("pdscope-grafana"), check: CheckOption = False) -> None:
    """Write dashboards, and the files by which Grafana finds them and its data sources at start.

    \b
    Examples:
      pdscope dashboards build --out /etc/grafana/pdscope
      pdscope dashboards build --out dashboards/generated --check
    """
    from dashboards.build import dashboard_files, provisioning_files
    from dashboards.cli.finish import finish

    finish(out, {**dashboard_files(), **provisioning_files()}, check)


@app.command()
def push(
    grafana: Annotated[
        str, typer.Option(metavar="URL", help="Address of Grafana, such as http://host:3000.")
    ],
    token: Annotated[
        str | None,
        typer.Option(envvar="GRAFANA_TOKEN", show_envvar=True, hidden=True, help="Service account token."),
    ] = None,
    folder: Annotated[str, typer.Option(help="Folder they are put into; made when missing.")] = "pdscope",
) -> None:
    """Create or update the dashboards in a running Grafana (GRAFANA_TOKEN: a service account's token).

    \b
    Examples:
      GRAFANA_TOKEN=… pdscope dashboards push --grafana http://localhost:3000
    """
    from dashboards.boards import BOARDS
    from dashboards.grafana_api import Grafana

    target = Grafana(grafana, token)
    target.ensure_folder(folder)
    for board in BOARDS:
        print(target.put_dashboard(board.json(BOARDS), folder))
