"""Where a store is, from what `--store` or `--data` says.

DIRECTORY, :memory:                              the embedded engine
clickhouse://USER:PASSWORD@HOST:PORT/DATABASE    a server, over HTTP; `?secure=1` for HTTPS
clickhouse+cluster://HOST/DATABASE?cluster=NAME  Replicated and Distributed tables on a cluster
"""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from collector.errors import ConfigError

_SCHEMES = ("clickhouse", "clickhouse+cluster")


@dataclass(frozen=True)
class Embedded:
    """The engine in this process; in memory when there is no path."""

    path: Path | None

    def __str__(self) -> str:
        return str(self.path or ":memory:")


@dataclass(frozen=True)
class Server:
    """A ClickHouse server reached over HTTP; on a cluster when it names one."""

    host: str
    port: int
    database: str = "default"
    user: str = "default"
    password: str = field(default="", repr=False)
    secure: bool = False
    cluster: str = ""

    def __str__(self) -> str:
        scheme = "clickhouse+cluster" if self.cluster else "clickhouse"
        return f"{scheme}://{self.host}:{self.port}/{self.database}"


def place_of(target: str) -> Embedded | Server:
    """Read a store's URL or path. Raises ConfigError, never repeating a password."""
    scheme, separator, _ = target.partition("://")
    if not separator:
        return Embedded(None if target == ":memory:" else Path(target))
    if scheme not in _SCHEMES:
        raise ConfigError(f"store: {scheme}:// is not known; expected {' or '.join(_SCHEMES)}://HOST:PORT")
    try:
        url = urlsplit(target)
        port = url.port
    except ValueError as error:
        raise ConfigError(f"store: not a URL of a ClickHouse server: {error}") from error
    options = dict(parse_qsl(url.query))
    unknown = sorted(set(options) - {"secure", "cluster"})
    if unknown or not url.hostname:
        what = f"unknown option {unknown[0]!r}" if unknown else "no host"
        raise ConfigError(f"store: {what}; expected {scheme}://USER:PASSWORD@HOST:PORT/DATABASE?secure=1")
    cluster = options.get("cluster", "")
    if (scheme == "clickhouse+cluster") != bool(cluster):
        raise ConfigError("store: a cluster is named as clickhouse+cluster://HOST:PORT/DATABASE?cluster=NAME")
    secure = options.get("secure", "0") not in ("0", "false", "")
    return Server(
        host=url.hostname,
        port=port or (8443 if secure else 8123),
        database=url.path.strip("/") or "default",
        user=unquote(url.username or "default"),
        password=unquote(url.password or ""),
        secure=secure,
        cluster=cluster,
    )
