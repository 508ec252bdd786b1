"""`pdscope alert-webhook`: turns Alertmanager's notifications into messages that say why."""

from typing import Annotated

import typer

from analyzer.cli.options import TokenOption


def alert_webhook(
    listen: Annotated[
        str, typer.Option(help="HOST:PORT to listen on; port 0 takes a free one.")
    ] = "127.0.0.1:9098",
    api: Annotated[
        str, typer.Option(metavar="URL", help="REST address of the pdscope that is asked.")
    ] = "http://127.0.0.1:8080",
    post: Annotated[
        str | None,
        typer.Option(
            envvar="PDSCOPE_ALERT_POST",
            show_envvar=True,
            metavar="URL",
            help="Slack-compatible webhook to post to; without it messages are printed.",
        ),
    ] = None,
    token: TokenOption = None,
) -> None:
    """Receive Alertmanager's webhook on /alerts, add the diagnosis, post or print the message.

    PDSCOPE_TOKEN, when set, is what pdscope is asked with, and what callers must bring (Bearer).

    \b
    Examples:
      pdscope alert-webhook
      PDSCOPE_ALERT_POST=https://hooks.slack.com/services/… pdscope alert-webhook --api http://pdscope:8080
    """
    import signal
    import threading

    from dashboards.webhook.server import WebhookServer

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    server = WebhookServer(listen, api, post, token)
    server.start()
    print(f"alerts     {server.url}/alerts", flush=True)
    try:
        stop.wait()
    finally:
        server.stop()
