"""Serves the ClickHouse-compatible endpoint on a thread of its own."""

import socket
import threading
import time

import uvicorn
from prometheus_client import CollectorRegistry

from collector.endpoint.app import ClickHouseApp
from collector.endpoint.engine import Engine
from collector.endpoint.limits import Limits
from collector.endpoint.metrics import EndpointMetrics
from collector.errors import ConfigError
from collector.settings import Address
from collector.tokens import Tokens


class ClickHouseEndpoint:
    """A uvicorn server. `start()` once, then `stop()`; the address is bound from the start of its life."""

    def __init__(
        self,
        target: str,
        address: Address,
        tokens: Tokens,
        registry: CollectorRegistry,
        limits: Limits | None = None,
    ):
        """target: the embedded store's path. Raises ConfigError when the address cannot be had."""
        limits = limits or Limits()
        self._socket = _listen(address)
        self.address = Address(address.host, self._socket.getsockname()[1])
        app = ClickHouseApp(Engine(target, limits), limits, tokens, EndpointMetrics(registry))
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
            limit_concurrency=128,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run,
            kwargs={"sockets": [self._socket]},
            name="pdscope-clickhouse-http",
            daemon=True,
        )

    @property
    def url(self) -> str:
        """Base address, as a client on this machine would use it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.address.host, self.address.host)
        return f"http://{Address(host, self.address.port)}"

    def start(self) -> None:
        """Serve; returns when statements are answered. Raises ConfigError when it does not come up."""
        self._thread.start()
        deadline = time.monotonic() + 20
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise ConfigError(
                    f"the ClickHouse endpoint on {self.address} did not start; the log says why"
                )
            time.sleep(0.005)

    def stop(self) -> None:
        """Answer what is being asked, then end; safe to call twice or before start."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(timeout=10)
        self._socket.close()


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=128)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"clickhouse_http: cannot listen on {address}: {reason}; stop what holds it, or give "
            "--clickhouse-http another HOST:PORT, or off"
        ) from error
