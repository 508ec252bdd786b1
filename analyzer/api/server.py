"""Serves the REST application on a thread of its own."""

import errno
import socket
import threading
import time

import uvicorn
from starlette.types import ASGIApp

from collector.errors import ConfigError
from collector.settings import Address


def listen(address: Address, setting: str) -> socket.socket:
    """Bind a listening socket. Raises ConfigError naming the setting when the address cannot be had."""
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        return socket.create_server((address.host, address.port), family=family, backlog=256)
    except (OSError, UnicodeError) as error:
        number = error.errno if isinstance(error, OSError) else None
        if number == errno.EADDRINUSE:
            reason = "another process listens there; stop it, or give another port (0 picks a free one)"
        else:
            reason = str(getattr(error, "strerror", None) or error)
        raise ConfigError(f"{setting}: cannot listen on {address}: {reason}") from error


class RestServer:
    """A uvicorn server. `start()` once, then `stop()`; the address is known from the start of its life."""

    def __init__(self, app: ASGIApp, address: Address):
        """Bind at once, so that an address in use is told before anything else is started."""
        self._socket = listen(address, "api")
        self.address = Address(address.host, self._socket.getsockname()[1])
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=5,
            limit_concurrency=512,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="pdscope-rest", daemon=True
        )

    @property
    def url(self) -> str:
        """Base address, as a client on this machine would use it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.address.host, self.address.host)
        return f"http://{Address(host, self.address.port)}"

    def start(self) -> None:
        """Serve; returns when requests are answered. Raises ConfigError when it does not come up."""
        self._thread.start()
        deadline = time.monotonic() + 20
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise ConfigError(f"the REST server on {self.address} did not start; the log says why")
            time.sleep(0.005)

    def stop(self) -> None:
        """Answer what is being asked, then end; safe to call twice or before start."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(timeout=10)
        self._socket.close()
