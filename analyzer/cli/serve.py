"""`pdscope serve`."""

from typing import Any

from analyzer.cli.options import JsonOption, with_settings


@with_settings(
    "data",
    "store",
    "api",
    "otlp_grpc",
    "otlp_http",
    "clickhouse_http",
    "slo",
    "retention_spans",
    "retention_requests",
    "retention_rollups",
    "import_max_bytes",
    "body_max_bytes",
    "query_threads",
)
def serve(settings: Any, json: JsonOption = False) -> None:
    """Receive telemetry, rebuild requests, answer over REST, until interrupted.

    \b
    Examples:
      pdscope serve
      pdscope serve --data /var/lib/pdscope --slo slo.yaml
      PDSCOPE_TOKEN=… pdscope serve --api 0.0.0.0:8080 --otlp-grpc 0.0.0.0:4317
    """
    import signal
    import threading

    from analyzer.cli.process import Process

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    process = Process(settings)
    process.start()
    try:
        _announce(process.addresses(), str(settings.data), json)
        stop.wait()
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
