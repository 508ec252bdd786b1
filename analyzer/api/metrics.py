"""REST's own metrics: calls by route and status, their time, and the store's size when scraped."""

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from collector.errors import StoreError
from collector.sql import read_sql
from collector.store.store import Store


class CallMetrics:
    """ASGI middleware that counts and times calls by route, never by raw path."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry):
        self._app = app
        self._calls = Counter(
            "pdscope_api_requests", "REST calls.", ["method", "route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "pdscope_api_request_seconds", "Time to answer a REST call.", ["route"], registry=registry
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on and count how it ended."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500
        began = time.perf_counter()

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "path_format", "none")
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST") else "other"
            self._calls.labels(method, route, str(status)).inc()
            self._seconds.labels(route).observe(time.perf_counter() - began)


class StoreSize(Collector):
    """Rows and bytes of each table, read when metrics are asked for."""

    def __init__(self, store: Store):
        self._store = store

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Read the sizes; nothing is reported while the store does not answer."""
        size = GaugeMetricFamily("pdscope_store_bytes", "Bytes on disk by table.", labels=["table"])
        rows = GaugeMetricFamily("pdscope_store_rows", "Rows by table.", labels=["table"])
        try:
            tables = self._store.rows(read_sql(__file__, "store_sizes"))
        except StoreError:
            return
        for table in tables:
            size.add_metric([table["table"]], table["bytes"])
            rows.add_metric([table["table"]], table["table_rows"])
        yield size
        yield rows
