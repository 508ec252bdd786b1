"""`pdscope rules`: alert rules from the objectives of `slo.yaml`."""

from pathlib import Path
from typing import Annotated

import typer

from dashboards.alerts.places import Places
from dashboards.cli.dashboards import CheckOption, OutOption

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Alert rules from slo.yaml.")

_DEFAULT = Places()


@app.callback()
def rules() -> None:
    """Alert rules from slo.yaml."""


@app.command()
def build(
    slo: Annotated[
        Path | None,
        typer.Option(
            envvar="PDSCOPE_SLO", metavar="PATH", help="slo.yaml; without it the default objective."
        ),
    ] = None,
    out: OutOption = Path("pdscope-rules"),
    check: CheckOption = False,
    grafana: Annotated[
        str, typer.Option(metavar="URL", help="Grafana's address, for links.")
    ] = _DEFAULT.grafana,
    runbooks: Annotated[
        str, typer.Option(metavar="URL", help="Where docs/runbooks can be read.")
    ] = _DEFAULT.runbooks,
    job: Annotated[str, typer.Option(help="Prometheus's job that scrapes pdscope.")] = _DEFAULT.job,
    shorten: Annotated[
        int, typer.Option(min=1, help="Divide every window by this, to try rules out in minutes.")
    ] = 1,
    every: Annotated[
        int | None, typer.Option(min=1, metavar="SECONDS", help="How often rules are evaluated.")
    ] = None,
) -> None:
    """Write Prometheus rules (prometheus/) and Grafana-managed alerts (provisioning/alerting/).

    Use one or the other: both say the same, Grafana's without Prometheus.

    \b
    Examples:
      pdscope rules build --slo slo.yaml --out /etc/prometheus/pdscope --grafana https://grafana.example.org
      pdscope rules build --slo slo.yaml --out rules --check
    """
    from analyzer.slo.objectives import load_objectives
    from dashboards.alerts.grafana import alerting_file
    from dashboards.alerts.prometheus import rule_file
    from dashboards.cli.finish import finish

    objectives = load_objectives(slo)
    places = Places(grafana, runbooks, job)
    files = {
        "prometheus/pdscope.rules.yml": rule_file(objectives, places, shorten, every),
        "provisioning/alerting/pdscope.yml": alerting_file(objectives, places),
    }
    finish(out, files, check)
