"""`pdscope tap` as a process, exporting to a real OTLP/gRPC listener."""

import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces
from typer.testing import CliRunner

from collector.errors import ConfigError
from tests.tap.serving import chat

COMMAND = [sys.executable, "-c", "import typer; from analyzer.cli.tap import tap; typer.run(tap)"]


class Listener(grpc.GenericRpcHandler):
    def __init__(self):
        self.bodies = {}

    def service(self, call):
        kept = self.bodies.setdefault(call.method.rpartition("/")[0], [])
        return grpc.unary_unary_rpc_method_handler(lambda body, _: kept.append(body) or b"")

    def spans(self):
        bodies = self.bodies.get("/opentelemetry.proto.collector.trace.v1.TraceService", ())
        for body in bodies:
            for resource in traces.ExportTraceServiceRequest.FromString(body).resource_spans:
                attributes = {each.key: each.value.string_value for each in resource.resource.attributes}
                yield from ((attributes, span) for scope in resource.scope_spans for span in scope.spans)

    def gauges(self):
        bodies = self.bodies.get("/opentelemetry.proto.collector.metrics.v1.MetricsService", ())
        for body in bodies:
            for resource in metrics.ExportMetricsServiceRequest.FromString(body).resource_metrics:
                yield from (metric for scope in resource.scope_metrics for metric in scope.metrics)


@pytest.fixture
def listener():
    handler = Listener()
    server = grpc.server(ThreadPoolExecutor(2), [handler])
    handler.address = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield handler
    server.stop(0).wait()


@contextlib.contextmanager
def child(command, pattern, stream):
    process = subprocess.Popen(command, text=True, **{stream: subprocess.PIPE})
    try:
        yield process, re.search(pattern, getattr(process, stream).readline())[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)
        getattr(process, stream).close()


def ask(address):
    body = json.dumps(chat(usage=True, first=0.2)).encode()
    with urllib.request.urlopen(urllib.request.Request(address + "/v1/chat/completions", body)) as response:
        return response.read()


def test_the_command_exports_spans_and_metrics_and_stops_cleanly(listener):
    upstream = [sys.executable, "-m", "tests.tap.upstream"]
    with child(upstream, r"http://\S+", "stdout") as (_, address):
        options = ["--upstream", address, "--listen", "127.0.0.1:0", "--otlp", listener.address]
        options += ["--instance", "tap-1", "--cohort", "disaggregated", "--drain", "5"]
        with child(COMMAND + options, r"http://127\.0\.0\.1:\d+", "stderr") as (process, tap):
            assert b"[DONE]" in ask(tap)
            asking = threading.Thread(target=ask, args=(tap,))
            asking.start()
            time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            asking.join()
            assert process.wait(10) == 0
    told = list(listener.spans())
    assert [span.name for _, span in told] == ["pd.request", "pd.request"]
    resource, span = told[0]
    assert resource["service.instance.id"] == "tap-1"
    assert (resource["pd.pool"], resource["pd.cohort"]) == ("router", "disaggregated")
    assert [event.name for event in span.events] == ["first_token", "last_token"]
    assert "pd.requests.in_flight" in {metric.name for metric in listener.gauges()}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--upstream", "127.0.0.1:8000"],
            "--upstream: '127.0.0.1:8000' is not an http:// or https:// address",
        ),
        (["--upstream", "ftp://user:secret@h"], "--upstream: 'ftp://h' is not"),
        (["--upstream", "http://h:99999"], "--upstream: 'http://h:99999' is not"),
        (["--upstream", "http://h", "--listen", "8081"], "--listen: '8081' is not HOST:PORT"),
        (
            ["--upstream", "http://h", "--listen", "127.0.0.1:http"],
            "--listen: '127.0.0.1:http' is not HOST:PORT",
        ),
    ],
)
def test_a_wrong_option_is_named(options, message):
    import typer

    from analyzer.cli.tap import tap

    app = typer.Typer()
    app.command()(tap)
    result = CliRunner().invoke(app, options)
    assert isinstance(result.exception, ConfigError)
    assert message in str(result.exception)
