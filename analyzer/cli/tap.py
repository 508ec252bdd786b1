"""`pdscope tap`: stand in front of an OpenAI-compatible endpoint and record what clients see."""

from typing import Annotated

import typer
import uvloop
from rich.console import Console

from collector.settings import Address
from collector.tap.settings import TapSettings, parse_address, parse_upstream

console = Console(stderr=True, highlight=False)


def tap(
    upstream: Annotated[
        str, typer.Option(help="Base URL of the endpoint, for example http://127.0.0.1:8000.")
    ],
    listen: Annotated[
        str, typer.Option(help="HOST:PORT to listen on; port 0 takes a free one.")
    ] = "127.0.0.1:8081",
    otlp: Annotated[
        str, typer.Option(help="OTLP/gRPC address for spans and metrics; 'none' sends nothing.")
    ] = "http://127.0.0.1:4317",
    service: Annotated[str, typer.Option(help="service.name of the spans.")] = "pdscope-tap",
    instance: Annotated[
        str | None, typer.Option(help="service.instance.id; one is made if not given.")
    ] = None,
    cohort: Annotated[
        str | None, typer.Option(help="pd.cohort, what before/after comparisons group by.")
    ] = None,
    tenant_header: Annotated[
        str | None, typer.Option(help="Request header whose value becomes pd.tenant.")
    ] = None,
    metrics_path: Annotated[str, typer.Option(help="Path that answers the tap's own metrics.")] = "/metrics",
    connect_timeout: Annotated[
        float, typer.Option(help="Seconds to reach the upstream; 0 waits for ever.")
    ] = 5.0,
    idle_timeout: Annotated[
        float, typer.Option(help="Longest silence of the upstream in seconds; 0 waits for ever.")
    ] = 600.0,
    drain: Annotated[float, typer.Option(help="Seconds that streams have to end when the tap stops.")] = 30.0,
) -> None:
    """Proxy an OpenAI-compatible endpoint; record each request as its client saw it, without its text.

    \b
    Examples:
      pdscope tap --upstream http://127.0.0.1:8000
      pdscope tap --upstream http://127.0.0.1:8000 --listen 127.0.0.1:8081 --otlp http://127.0.0.1:4317
    """
    from collector.tap.server import serve

    settings = TapSettings(
        upstream=parse_upstream(upstream),
        listen=parse_address(listen),
        otlp=None if otlp == "none" else otlp,
        service=service,
        instance=instance,
        cohort=cohort,
        tenant_header=tenant_header,
        metrics_path=metrics_path,
        connect_timeout_s=connect_timeout,
        idle_timeout_s=idle_timeout,
        drain_s=drain,
    )
    uvloop.run(serve(settings, lambda address: _announce(settings, address)))


def _announce(settings: TapSettings, address: Address) -> None:
    if not address.loopback:
        console.print(f"[yellow]warning[/yellow] {address} can be reached from other machines")
    console.print(f"tap listening on http://{address} in front of {settings.upstream}")
    where = settings.otlp or "nowhere (--otlp none)"
    console.print(f"spans and metrics go to {where}; its own page is http://{address}{settings.metrics_path}")
