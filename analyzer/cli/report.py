"""`pdscope report`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from analyzer.cli.options import ApiOption, JsonOption, TokenOption, settings_of
from collector.errors import ConfigError

Time = Annotated[str | None, typer.Option(metavar="TIME", help="RFC 3339 or Unix seconds.")]
Label = Annotated[str | None, typer.Option(help="Only requests with this label.")]
Seconds = Annotated[float | None, typer.Option(help="Override the objective, in seconds.")]


class Format(StrEnum):
    """What a report is written as."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MD = "md"
    HTML = "html"


def report(
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="RFC 3339 or Unix seconds; default: an hour before --to."
        ),
    ] = None,
    to: Annotated[str | None, typer.Option(metavar="TIME", help="Default: now.")] = None,
    model: Label = None,
    tenant: Label = None,
    route: Label = None,
    cohort: Label = None,
    ttft: Seconds = None,
    tpot: Seconds = None,
    target: Annotated[float | None, typer.Option(help="Override the target, a fraction.")] = None,
    gpus: Annotated[
        float | None, typer.Option(help="Accelerators that served them, where workers do not say pd.gpus.")
    ] = None,
    format: Annotated[
        Format, typer.Option(help="text: tables for this terminal; else the SLO report as a document.")
    ] = Format.TEXT,
    slowest: Annotated[int, typer.Option(min=0, max=1000, help="How many slow requests to list.")] = 10,
    json: JsonOption = False,
    api: ApiOption = None,
    data: Annotated[Path | None, typer.Option(metavar="PATH", help="Data directory [PDSCOPE_DATA]")] = None,
    token: TokenOption = None,
) -> None:
    """Say how far requests met their objectives, where the time went, and which were slowest.

    With --format, the SLO report by model, tenant, route, cohort, lengths and concurrency, as a document.

    \b
    Examples:
      pdscope report
      pdscope report --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z --model llama-70b
      pdscope report --from 2026-01-01T00:00:00Z --format html > january.html
      pdscope report --format csv --gpus 16 > hour.csv
      pdscope report --ttft 1.5 --tpot 0.04 --json | jq '.slo.objectives[0].attainment'
    """
    from analyzer.cli.client import connect

    asked = {"from_": from_, "to": to, "model": model, "tenant": tenant, "route": route, "cohort": cohort}
    asked |= {"ttft": ttft, "tpot": tpot, "target": target}  # type: ignore[dict-item]
    if json and format is not Format.TEXT:
        raise ConfigError("--json is of the tables; give --format json for the SLO report")
    with connect(api, settings_of(data, token)) as client:
        if format is not Format.TEXT:
            print(client.text("/slo/report", format=format.value, gpus=gpus, **asked), end="")
            return
        answer = _ask(client, {**asked, "gpus": gpus}, slowest)
    if json:
        from json import dumps

        print(dumps(answer, indent=2))
        return
    from analyzer.cli.report_tables import print_report

    print_report(answer)


def _ask(client: Any, asked: dict[str, Any], slowest: int) -> dict[str, Any]:
    from collector.phases import TTFT_PARTS

    slo = client.get("/slo", **asked)
    asked = {name: value for name, value in asked.items() if name != "gpus"}
    # Later questions are about the very same window, whatever the time is by then.
    asked = asked | {"from_": slo["window"]["from"], "to": slo["window"]["to"]}
    metrics = ("ttft", "tpot", "e2e", *TTFT_PARTS)
    latency = {metric: client.get("/latency", metric=metric, **asked)["rows"][0] for metric in metrics}
    listed = client.get("/requests", order="slowest", limit=slowest, **asked)["requests"] if slowest else []
    newest = None if any(item["requests"]["total"] for item in slo["objectives"]) else _newest(client)
    return {"slo": slo, "latency": latency, "slowest": listed, "newest": newest}


def _newest(client: Any) -> str | None:
    """When the newest request of all started, for those who asked about a window without any."""
    found = client.get("/requests", from_="0", to="2100-01-01T00:00:00Z", limit=1)["requests"]
    return str(found[0]["started_at"]) if found else None
