"""`pdscope slo`: objectives for other tools, and from them."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Objectives from and for other tools.")


class Target(StrEnum):
    """Whose format objectives are written in."""

    OPENSLO = "openslo"
    SLOTH = "sloth"
    PYRRA = "pyrra"


Out = Annotated[Path | None, typer.Option(metavar="PATH", help="File to write; default: standard output.")]
Limit = Annotated[float | None, typer.Option(help="Limit in seconds where an SLO sets only the other.")]


@app.callback()
def slo() -> None:
    """Objectives from and for other tools."""


@app.command("export")
def export(
    slo: Annotated[
        Path | None,
        typer.Option(
            envvar="PDSCOPE_SLO", metavar="PATH", help="slo.yaml; without it the default objective."
        ),
    ] = None,
    format: Annotated[Target, typer.Option(help="Whose format.")] = Target.OPENSLO,
    out: Out = None,
) -> None:
    """Write slo.yaml as OpenSLO v1, or as what Sloth or Pyrra make alert rules from.

    The indicator is pdscope_slo_requests_total, which pdscope exports on /metrics. What does not fit is said
    on standard error.

    \b
    Examples:
      pdscope slo export --slo slo.yaml --out openslo.yaml
      pdscope slo export --slo slo.yaml --format sloth > sloth.yaml
    """
    from analyzer.slo.objectives import load_objectives
    from dashboards.exchange.openslo import openslo
    from dashboards.exchange.pyrra import pyrra
    from dashboards.exchange.sloth import sloth, unfit_for_sloth

    objectives = load_objectives(slo)
    written = {Target.OPENSLO: openslo, Target.SLOTH: sloth, Target.PYRRA: pyrra}[format](objectives)
    _write(written, out, unfit_for_sloth(objectives) if format is Target.SLOTH else [])


@app.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="OpenSLO v1, YAML or JSON.")],
    ttft: Limit = None,
    tpot: Limit = None,
    out: Out = None,
) -> None:
    """Make slo.yaml of OpenSLO v1 documents.

    What `pdscope slo export` wrote comes back as it was. Of others, SLOs that limit a TTFT or a TPOT are
    taken; one of each, of the same service, target and period, become one objective. The rest is named on
    standard error.

    \b
    Examples:
      pdscope slo import openslo.yaml --out slo.yaml
      pdscope slo import ttft.yaml --tpot 0.05 > slo.yaml
    """
    from dashboards.exchange.openslo_import import check_not_empty, import_openslo
    from dashboards.exchange.slo_yaml import slo_yaml

    found = import_openslo(files, ttft, tpot)
    check_not_empty(found)
    _write(slo_yaml(found.objectives), out, found.notes)


def _write(text: str, out: Path | None, notes: list[str]) -> None:
    from collector.errors import ConfigError

    for note in notes:
        print(f"pdscope: {note}", file=sys.stderr)
    if out is None:
        print(text, end="")
        return
    try:
        out.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {out}: {error.strerror}") from error
