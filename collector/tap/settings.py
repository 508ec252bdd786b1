"""What a tap is told: where to listen, what to stand in front of, where to send what it saw."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from collector.errors import ConfigError
from collector.instrument.asgi import RECORDED_PATHS
from collector.settings import Address

LISTEN = Address("127.0.0.1", 8081)
"""Where a tap listens unless told otherwise; port 0 takes a free one."""


@dataclass(frozen=True)
class TapSettings:
    """Settings of one tap; times are seconds, 0 means without limit.

    `idle_timeout_s` is the longest silence of the upstream, which includes the wait for its first token.
    `tenant_header` names a request header whose value becomes `pd.tenant`; nothing else of a client's headers
    is recorded. `metrics_path` is answered by the tap itself and hides that path of the upstream.
    """

    upstream: str
    listen: Address = LISTEN
    otlp: str | None = "http://127.0.0.1:4317"
    service: str = "pdscope-tap"
    instance: str | None = None
    cohort: str | None = None
    pool: str = "router"
    tenant_header: str | None = None
    metrics_path: str = "/metrics"
    connect_timeout_s: float = 5.0
    idle_timeout_s: float = 600.0
    drain_s: float = 30.0
    paths: tuple[str, ...] = RECORDED_PATHS


def parse_address(text: str, setting: str = "--listen") -> Address:
    """`HOST:PORT`, `[IPv6]:PORT` or `:PORT` (loopback). Raises ConfigError."""
    host, separator, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not separator or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ConfigError(f"{setting}: {text!r} is not HOST:PORT; give for example 127.0.0.1:8081")
    return Address(host, int(port))


def parse_upstream(text: str) -> str:
    """The base URL of the upstream without a slash at its end. Raises ConfigError."""
    parts = urlsplit(text)
    try:
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment:
        raise ConfigError(
            f"--upstream: {_without_password(text)!r} is not an http:// or https:// address; "
            "give for example http://127.0.0.1:8000"
        )
    return text.rstrip("/")


def _without_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return scheme + separator + rest.rpartition("@")[2] if separator else url.rpartition("@")[2]
