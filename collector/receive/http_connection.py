"""An OTLP/HTTP connection that cannot be held open for nothing: so many at once, and headers in time."""

from asyncio import TimerHandle, Transport
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from collector.receive.metrics import ReceiveMetrics


class GuardedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 connection, with a limit on how many there are and on how long headers may take.

    A body in arrival has its own limit in the application.
    """

    max_connections: ClassVar[int]
    header_timeout: ClassVar[float]
    metrics: ClassVar[ReceiveMetrics]
    _header_timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Take the connection, or close it when there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            self.metrics.refused_connections.labels("too_many").inc()
            transport.abort()
            return
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._headers_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Time the headers of the next request, too."""
        super().data_received(data)
        if self._between_requests():
            if self._header_timer is None and self.transport and not self.transport.is_closing():
                self._await_headers()
        else:
            self._headers_came()

    def _between_requests(self) -> bool:
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete

    def _await_headers(self) -> None:
        self._header_timer = self.loop.call_later(self.header_timeout, self._too_slow)

    def _headers_came(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _too_slow(self) -> None:
        self._header_timer = None
        if self._between_requests():
            self.metrics.refused_connections.labels("headers_too_slow").inc()
            self.transport.abort()


def guarded_protocol(
    max_connections: int, header_timeout: float, metrics: ReceiveMetrics
) -> type[GuardedProtocol]:
    """The protocol of one listener."""
    limits = {
        "max_connections": max_connections,
        "header_timeout": header_timeout,
        "metrics": metrics,
    }
    return type("LimitedProtocol", (GuardedProtocol,), limits)
