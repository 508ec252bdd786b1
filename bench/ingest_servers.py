"""Servers for bench/ingest.py, one process each: `ROLE DIRECTORY`. They print their port; on a line of input
they print how many spans can be queried, and the bytes of their table.

    pdscope   both listeners, journal on, embedded store; a number after it: so many tenants with tokens
    loop      OTLP/gRPC, each span to a row in a Python loop, 20 exports an insert, the same table
    receiver  a ClickHouse over HTTP that takes RowBinary into the table of the OpenTelemetry exporter
"""

import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import clickhouse_connect
import grpc
from prometheus_client import CollectorRegistry

from bench.ingest_traces import COLUMNS, rows_by_python_loop
from collector.journal import Journal, JournalLimits
from collector.receive import OtlpReceiver, ReceiveSettings
from collector.receive.access import Access
from collector.receive.grpc_listener import TRACE_SERVICE
from collector.store import Store
from collector.tokens import Grant, Right, Tokens, digest_of

OTEL_TRACES = """
CREATE TABLE otel_traces (
    Timestamp DateTime64(9) CODEC(Delta(8), ZSTD(1)), TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)), ParentSpanId String CODEC(ZSTD(1)), TraceState String CODEC(ZSTD(1)),
    SpanName LowCardinality(String) CODEC(ZSTD(1)), SpanKind LowCardinality(String) CODEC(ZSTD(1)),
    ServiceName LowCardinality(String) CODEC(ZSTD(1)),
    ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    ScopeName String CODEC(ZSTD(1)), ScopeVersion String CODEC(ZSTD(1)),
    SpanAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)), Duration Int64 CODEC(ZSTD(1)),
    StatusCode LowCardinality(String) CODEC(ZSTD(1)), StatusMessage String CODEC(ZSTD(1)),
    `Events.Timestamp` Array(DateTime64(9)) CODEC(ZSTD(1)),
    `Events.Name` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `Events.Attributes` Array(Map(LowCardinality(String), String)) CODEC(ZSTD(1)),
    `Links.TraceId` Array(String) CODEC(ZSTD(1)), `Links.SpanId` Array(String) CODEC(ZSTD(1)),
    `Links.TraceState` Array(String) CODEC(ZSTD(1)),
    `Links.Attributes` Array(Map(LowCardinality(String), String)) CODEC(ZSTD(1))
) ENGINE = MergeTree PARTITION BY toDate(Timestamp)
ORDER BY (ServiceName, SpanName, toDateTime(Timestamp), TraceId)
"""


def token_of(tenant: int) -> bytes:
    """The token that its exports bear."""
    return b"token-of-tenant-%d" % tenant


def pdscope(directory: str, tenants: int = 0) -> tuple[int, Store]:
    store = Store.open(directory)
    journal = Journal(Path(directory) / "journal", JournalLimits())
    settings = ReceiveSettings("127.0.0.1:0", "127.0.0.1:0", own_span_ratio=0)
    # without a tenant anyone may send; with some, whoever has the token of one
    grants = [
        Grant(digest_of(token_of(number)), Right.INGEST, f"tenant-{number}") for number in range(tenants)
    ]
    access = Access(Tokens(grants=grants))
    receiver = OtlpReceiver(store, settings, CollectorRegistry(), journal, access)
    receiver.start()
    return receiver.grpc_port, store


class _Loop(grpc.GenericRpcHandler):
    """What a plain receiver does: parse, loop, insert; answers once stored."""

    def __init__(self, store: Store):
        self._store = store
        self._waiting: list[tuple[bytes, threading.Event]] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._run, daemon=True).start()

    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if call.method != f"/{TRACE_SERVICE}/Export":
            return None
        return grpc.unary_unary_rpc_method_handler(self._export)

    def _export(self, body: bytes, context: grpc.ServicerContext) -> bytes:
        done = threading.Event()
        with self._lock:
            self._waiting.append((body, done))
        done.wait()
        return b""

    def _run(self) -> None:
        while True:
            with self._lock:
                batch, self._waiting = self._waiting[:20], self._waiting[20:]
            if not batch:
                time.sleep(0.02)
                continue
            rows = [row for body, _ in batch for row in rows_by_python_loop(body, 0)]
            self._store.insert("spans", rows, COLUMNS)
            for _, done in batch:
                done.set()


def loop(directory: str) -> tuple[int, Store]:
    store = Store.open(directory)
    server = grpc.server(ThreadPoolExecutor(64), [_Loop(store)])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    loop.server = server  # type: ignore[attr-defined]
    return port, store


class _ClickHouse(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    path_of_store = ""
    local = threading.local()

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        query = parse_qs(urlsplit(self.path).query).get("query", [""])[0]
        into, _, form = query.rpartition(" FORMAT ")
        columns = into[into.index("(") + 1 : into.rindex(")")].replace("`", "").split(",")
        client = _client(self.path_of_store)
        try:
            client.raw_insert(
                "otel_traces", [name.strip() for name in columns], self._body(), fmt=form.strip()
            )
            status, answer = 200, b""
        except Exception as error:
            status, answer = 500, str(error).encode()
            print(error, file=sys.stderr)
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)


def _client(path: str) -> "clickhouse_connect.driver.client.Client":
    found = getattr(_ClickHouse.local, "client", None)
    if found is None:
        _ClickHouse.local.client = found = clickhouse_connect.get_client(interface="chdb", path=path)
    return found


def receiver(directory: str) -> tuple[int, str]:
    client = _client(directory)
    client.command(OTEL_TRACES)
    _ClickHouse.path_of_store = directory
    server = ThreadingHTTPServer(("127.0.0.1", 0), _ClickHouse)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1], directory


def main(role: str, directory: str, tenants: str = "0") -> None:
    query: Callable[[str], Sequence[Sequence[Any]]]
    if role == "receiver":
        port, path = receiver(directory)
        table, query = "otel_traces", lambda sql: _client(path).query(sql).result_rows
    else:
        port, store = loop(directory) if role == "loop" else pdscope(directory, int(tenants))
        table, query = "spans", store.query
    print(port, flush=True)
    for _ in sys.stdin:
        count = query(f"SELECT count() FROM {table}")[0][0]
        size = query(f"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = '{table}'")[0][0]
        print(count, size, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
