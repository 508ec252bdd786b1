"""`pdscope serve`."""

from typing import Any

from analyzer.cli.options import JsonOption, with_settings
from collector.settings import SETTINGS


@with_settings(*(setting.name for setting in SETTINGS if not setting.secret))
def serve(settings: Any, json: JsonOption = False) -> None:
    """Receive telemetry, rebuild requests, answer over REST, until interrupted.

    \b
    Examples:
      pdscope serve
      pdscope serve --data /var/lib/pdscope --slo slo.yaml
      pdscope serve --scrape scrape.yaml
      PDSCOPE_TOKEN=… pdscope serve --api 0.0.0.0:8080 --otlp-grpc 0.0.0.0:4317
      pdscope serve --role collect --store clickhouse://pdscope:…@clickhouse:8123/pdscope
    """
    import gc
    import logging
    import signal
    import threading

    from analyzer.cli.process import Process
    from collector.settings import misspelt

    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    for warning in misspelt():
        logging.getLogger(__name__).warning(warning)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    process = Process(settings)
    process.start()
    try:
        _announce(process.addresses(), str(settings.data), json)
        # What start-up made stays: walking it again and again would cost senders their latency.
        gc.collect()
        gc.freeze()
        # A signal that another thread takes does not end a wait without a timeout.
        while not stop.wait(0.5):
            pass
    finally:
        process.stop()


def _announce(addresses: dict[str, str], data: str, as_json: bool) -> None:
    if as_json:
        from json import dumps

        print(dumps({**addresses, "data": data}), flush=True)
        return
    for name, address in addresses.items():
        print(f"{name:16} {address}", flush=True)
    print(f"{'data':16} {data}", flush=True)
