"""`pdscope compare`."""

from pathlib import Path
from typing import Annotated

import typer

from analyzer.cli.options import ApiOption, JsonOption, TokenOption, settings_of

Time = Annotated[str | None, typer.Option(metavar="TIME", help="Default: the candidate's.")]
Label = Annotated[str | None, typer.Option(help="Only requests with this label.")]
Seconds = Annotated[float | None, typer.Option(help="Override the objective, in seconds.")]
Gpus = Annotated[float | None, typer.Option(help="Its accelerators, where workers do not say pd.gpus.")]


def compare(
    baseline: Annotated[str, typer.Option(help="Cohort that is measured against.")] = "",
    candidate: Annotated[str, typer.Option(help="Cohort that may be better.")] = "",
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="RFC 3339 or Unix seconds; default: an hour before --to."
        ),
    ] = None,
    to: Annotated[str | None, typer.Option(metavar="TIME", help="Default: now.")] = None,
    baseline_from: Time = None,
    baseline_to: Time = None,
    model: Label = None,
    tenant: Label = None,
    route: Label = None,
    ttft: Seconds = None,
    tpot: Seconds = None,
    baseline_gpus: Gpus = None,
    candidate_gpus: Gpus = None,
    equal_accelerators: Annotated[
        bool, typer.Option("--equal-accelerators", help="Refuse sides of unequal size.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the resampling.")] = 0,
    json: JsonOption = False,
    api: ApiOption = None,
    data: Annotated[Path | None, typer.Option(metavar="PATH", help="Data directory [PDSCOPE_DATA]")] = None,
    token: TokenOption = None,
) -> None:
    """Set two cohorts side by side, or the same before and after: same prompts, per accelerator-hour.

    Unlike sides are refused, and the difference is named.

    \b
    Examples:
      pdscope compare --baseline colocated --candidate disaggregated --from 2026-01-31T12:00:00Z
      pdscope compare --from 2026-02-02T00:00:00Z --to 2026-02-03T00:00:00Z --baseline-from 2026-02-01T00:00:00Z --baseline-to 2026-02-02T00:00:00Z
      pdscope compare --baseline colocated --candidate disaggregated --baseline-gpus 8 --candidate-gpus 8 --json | jq .summary
    """  # noqa: E501 - a command line that is to be copied
    from analyzer.cli.client import connect

    asked = {
        "baseline": baseline,
        "candidate": candidate,
        "from_": from_,
        "to": to,
        "baseline_from": baseline_from,
        "baseline_to": baseline_to,
        "model": model,
        "tenant": tenant,
        "route": route,
        "ttft": ttft,
        "tpot": tpot,
        "baseline_gpus": baseline_gpus,
        "candidate_gpus": candidate_gpus,
        "seed": seed,
        "accelerators": "equal" if equal_accelerators else "normalise",
    }
    with connect(api, settings_of(data, token)) as client:
        answer = client.get("/compare", **asked)
    if json:
        from json import dumps

        print(dumps(answer, indent=2))
        return
    from analyzer.cli.compare_tables import print_comparison

    print_comparison(answer)
