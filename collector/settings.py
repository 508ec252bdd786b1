"""Every setting of pdscope in one table: flags, environment, YAML and the docs read it.

A flag wins over the environment, that over the YAML file, that over the default.
"""

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from collector.config_file import read_config
from collector.errors import ConfigError

ENV_PREFIX = "PDSCOPE_"


@dataclass(frozen=True)
class Setting:
    """One setting. `name` is its YAML key; the flag and the environment variable derive from it."""

    name: str
    default: str | int | None
    unit: str
    help: str
    secret: bool = False
    """A secret has no flag: command lines are visible to every user of a machine."""

    @property
    def flag(self) -> str:
        """Command line flag, such as `--otlp-grpc`."""
        return "--" + self.name.replace("_", "-")

    @property
    def env(self) -> str:
        """Environment variable, such as `PDSCOPE_OTLP_GRPC`."""
        return ENV_PREFIX + self.name.upper()


class Role(StrEnum):
    """What one process of several does with a shared store."""

    ALL = "all"
    COLLECT = "collect"
    ANALYZE = "analyze"

    @property
    def receives(self) -> bool:
        """Whether it takes telemetry in."""
        return self is not Role.ANALYZE

    @property
    def analyzes(self) -> bool:
        """Whether it rebuilds requests and answers questions."""
        return self is not Role.COLLECT


SETTINGS: tuple[Setting, ...] = (
    Setting("data", "./pdscope-data", "path", "Directory of the embedded store; created when missing."),
    Setting(
        "store",
        None,
        "text",
        "URL of a ClickHouse server instead of --data: clickhouse://USER:PASSWORD@HOST:PORT/DATABASE.",
    ),
    Setting(
        "role",
        "all",
        "all|collect|analyze",
        "Do both, only take telemetry in, or only rebuild requests and answer; one alone needs --store.",
    ),
    Setting(
        "api", "127.0.0.1:8080", "host:port", "Where REST and the page are served; port 0 takes a free one."
    ),
    Setting(
        "otlp_grpc", "127.0.0.1:4317", "host:port", "Where OTLP/gRPC is received; port 0 takes a free one."
    ),
    Setting(
        "otlp_http", "127.0.0.1:4318", "host:port", "Where OTLP/HTTP is received; port 0 takes a free one."
    ),
    Setting(
        "clickhouse_http",
        "127.0.0.1:8123",
        "host:port|off",
        "Where ClickHouse clients read the published views; port 0 takes a free one.",
    ),
    Setting("scrape", None, "path", "YAML file of jobs: whose metrics pages are scraped, and how."),
    Setting("slo", None, "path", "YAML file of objectives; without it one default objective applies."),
    Setting("token", None, "text", "Bearer token; needed to listen anywhere but on loopback.", secret=True),
    Setting("retention_spans", 14, "days", "How long spans and signals are kept after they came in."),
    Setting("retention_requests", 90, "days", "How long requests and hand-offs are kept."),
    Setting("retention_rollups", 400, "days", "How long minute counts of objectives and latencies are kept."),
    Setting(
        "tenant_tokens",
        None,
        "path",
        "YAML file of tenants and the hashes of their tokens, for sending and reading.",
    ),
    Setting("tls_cert", None, "path", "Certificate (PEM) of both OTLP listeners; needs tls_key."),
    Setting("tls_key", None, "path", "Private key (PEM) of tls_cert."),
    Setting("tls_client_ca", None, "path", "CA (PEM) that must have signed the certificates of senders."),
    Setting("journal_max_bytes", 4 << 30, "bytes", "Most the journal holds; then senders must come back."),
    Setting("journal_segment_bytes", 64 << 20, "bytes", "Size at which a journal file is closed."),
    Setting("journal_max_age_s", 10, "seconds", "How long a stored body may stay in the journal."),
    Setting(
        "journal_min_free_bytes", 512 << 20, "bytes", "Free disk below which no more telemetry is accepted."
    ),
    Setting(
        "scrub_before_journal",
        "no",
        "yes or no",
        "Take prompt text and end users' names out before anything touches the disk; costs CPU.",
    ),
    Setting("otlp_max_body_bytes", 16 << 20, "bytes", "Largest export, as sent and decompressed."),
    Setting("otlp_max_items", 100_000, "spans or points", "Most of them in one export."),
    Setting("otlp_max_queue_bytes", 128 << 20, "bytes", "Most that may wait to be written to the journal."),
    Setting("otlp_max_memory_bytes", 4 << 30, "bytes", "Memory in use above which no more is accepted."),
    Setting("otlp_max_concurrent", 2048, "exports", "OTLP/gRPC exports that are answered at once."),
    Setting("otlp_max_connections", 1024, "connections", "Most connections of each OTLP listener."),
    Setting("otlp_body_timeout_s", 30, "seconds", "How long an OTLP/HTTP body may take to arrive."),
    Setting("otlp_header_timeout_s", 10, "seconds", "How long OTLP/HTTP headers or a handshake may take."),
    Setting(
        "otlp_source_bytes_per_s", None, "bytes", "Most one tenant (or address) may send a second; unlimited."
    ),
    Setting("max_models", 200, "names", "Distinct models in a day; further ones become __other__."),
    Setting("max_tenants", 1_000, "names", "Distinct tenants in a day; further ones become __other__."),
    Setting("max_routes", 1_000, "names", "Distinct routes in a day; further ones become __other__."),
    Setting("max_workers", 10_000, "names", "Distinct workers in a day; further ones become __other__."),
    Setting("import_max_bytes", 4 << 30, "bytes", "Largest file that POST /api/v1/import takes."),
    Setting("body_max_bytes", 1 << 20, "bytes", "Largest body of every other REST call."),
    Setting(
        "api_calls_per_s", None, "calls", "REST calls a token (or address) may make a second; unlimited."
    ),
    Setting("query_threads", 8, "threads", "REST queries that run at once."),
)


@dataclass(frozen=True)
class Address:
    """Where a listener binds."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True)
class Settings:
    """All settings, checked."""

    data: Path = Path("./pdscope-data")
    store: str | None = None
    role: Role = Role.ALL
    api: Address = Address("127.0.0.1", 8080)
    otlp_grpc: Address = Address("127.0.0.1", 4317)
    otlp_http: Address = Address("127.0.0.1", 4318)
    clickhouse_http: Address | None = Address("127.0.0.1", 8123)
    scrape: Path | None = None
    slo: Path | None = None
    token: str | None = None
    retention_spans: int = 14
    retention_requests: int = 90
    retention_rollups: int = 400
    tenant_tokens: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    journal_max_bytes: int = 4 << 30
    journal_segment_bytes: int = 64 << 20
    journal_max_age_s: int = 10
    journal_min_free_bytes: int = 512 << 20
    scrub_before_journal: bool = False
    otlp_max_body_bytes: int = 16 << 20
    otlp_max_items: int = 100_000
    otlp_max_queue_bytes: int = 128 << 20
    otlp_max_memory_bytes: int = 4 << 30
    otlp_max_concurrent: int = 2048
    otlp_max_connections: int = 1024
    otlp_body_timeout_s: int = 30
    otlp_header_timeout_s: int = 10
    otlp_source_bytes_per_s: int | None = None
    max_models: int = 200
    max_tenants: int = 1_000
    max_routes: int = 1_000
    max_workers: int = 10_000
    import_max_bytes: int = 4 << 30
    body_max_bytes: int = 1 << 20
    api_calls_per_s: int | None = None
    query_threads: int = 8

    def refuse_lone_role(self) -> None:
        """Raise ConfigError when only a part is to run, and there is no server that the parts share."""
        if self.role is not Role.ALL and self.store is None:
            raise ConfigError(
                f"role {self.role}: an embedded store belongs to one process, which does everything; "
                "give --store the ClickHouse server that collectors and analyzers share"
            )

    def refuse_open_listeners(self) -> None:
        """Raise ConfigError when a listener is reachable from elsewhere and no token protects it."""
        for name in ("api", "otlp_grpc", "otlp_http", "clickhouse_http"):
            address = getattr(self, name)
            if address and not address.loopback and not (self.token or self.tenant_tokens):
                raise ConfigError(
                    f"{name} would listen on {address}, which other machines can reach, without a token; "
                    f"set {ENV_PREFIX}TOKEN or {ENV_PREFIX}TENANT_TOKENS, or listen on 127.0.0.1"
                )
        if bool(self.tls_cert) != bool(self.tls_key) or (self.tls_client_ca and not self.tls_cert):
            raise ConfigError("tls_cert and tls_key go together, and tls_client_ca needs both")


def resolve(
    flags: Mapping[str, str | None],
    environ: Mapping[str, str] | None = None,
    config: Path | None = None,
) -> Settings:
    """Put the settings together from flags (by setting name), environment and a YAML file.

    Raises ConfigError naming the setting, where its value came from, and what is wrong with it.
    """
    values = given(flags, environ, config)
    return Settings(**{name: _checked(_table()[name], *value) for name, value in values.items()})  # type: ignore[arg-type]


def given(
    flags: Mapping[str, str | None],
    environ: Mapping[str, str] | None = None,
    config: Path | None = None,
) -> dict[str, tuple[object, str]]:
    """What was given, by setting name: the value as it was written, and where.

    Raises ConfigError when the file cannot be read or holds an unknown key.
    """
    values: dict[str, tuple[object, str]] = {}
    if config is not None:
        values |= _from_file(config)
    values |= _from_environment(os.environ if environ is None else environ)
    for name, value in flags.items():
        if value is not None:
            values[name] = (value, _table()[name].flag)
    return values


def misspelt(environ: Mapping[str, str] | None = None) -> list[str]:
    """Variables that look like a setting's and are none, in words that name the setting.

    Only near misses: Kubernetes sets PDSCOPE_PORT and the like for a service of that name.
    """
    known = {setting.env for setting in SETTINGS}
    found = []
    for name in sorted((os.environ if environ is None else environ).keys() - known):
        if not name.startswith(ENV_PREFIX):
            continue
        if likely := difflib.get_close_matches(name, known, n=1, cutoff=0.85):
            found.append(f"{name} is no setting and is not read; did you mean {likely[0]}?")
    return found


def _table() -> dict[str, Setting]:
    return {setting.name: setting for setting in SETTINGS}


def _from_file(path: Path) -> dict[str, tuple[object, str]]:
    root = read_config(path)
    if root.value is None:
        return {}
    fields = root.fields("settings", tuple(_table()))
    return {
        name: (node.value, f"{node.where}: {name}") for name, node in fields.items() if node.value is not None
    }


def _from_environment(environ: Mapping[str, str]) -> dict[str, tuple[object, str]]:
    """Other PDSCOPE_* variables are let be: Kubernetes sets some for every service of that name."""
    known = {setting.env: setting.name for setting in SETTINGS}
    found: dict[str, tuple[object, str]] = {
        known[name]: (value, name) for name, value in environ.items() if name in known and value != ""
    }
    for setting in SETTINGS:
        file = environ.get(f"{setting.env}_FILE", "") if setting.unit == "text" else ""
        if file and setting.name in found:
            raise ConfigError(f"{setting.env} and {setting.env}_FILE are both set: leave one out")
        if file:
            found[setting.name] = (_secret_in(Path(file), f"{setting.env}_FILE"), f"{setting.env}_FILE")
    return found


def _secret_in(path: Path, source: str) -> str:
    """What a file of one secret holds, without the line's end: as container platforms mount them."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(1 << 16).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{source}: cannot read {path}: {getattr(error, 'strerror', None) or 'not UTF-8'}"
        ) from error


def _checked(setting: Setting, value: object, source: str) -> object:
    """Convert a raw value to the type its unit asks for."""
    if setting.unit == "host:port|off" and value in ("off", False):
        return None
    if setting.unit.startswith("host:port"):
        return parse_address(value, source)
    if setting.unit == "path":
        return Path(_text(value, source)).expanduser()
    if setting.unit == "text":
        return _text(value, source)
    if setting.unit == "all|collect|analyze":
        return _role(value, source)
    if setting.unit == "yes or no":
        return _yes(value, source)
    return _count(value, setting.unit, source)


def _yes(value: object, source: str) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("yes", "no"):
        return value == "yes"
    raise ConfigError(f"{source}: expected yes or no, not {value!r}")


def _role(value: object, source: str) -> Role:
    if value in tuple(Role):
        return Role(str(value))
    raise ConfigError(f"{source}: expected one of {', '.join(Role)}, not {value!r}")


def _text(value: object, source: str) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ConfigError(f"{source}: expected text, not {value!r}")
    return value


def parse_address(value: object, source: str) -> Address:
    """HOST:PORT or [IPv6]:PORT; `source` is named in the ConfigError of anything else."""
    text = value if isinstance(value, str) else ""
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ConfigError(
            f"{source}: expected HOST:PORT with a port up to 65535, such as 127.0.0.1:8080, not {value!r}"
        )
    return Address(host, int(port))


def _count(value: object, unit: str, source: str) -> int:
    text = str(value).replace("_", "")
    if isinstance(value, bool) or not text.isascii() or not text.isdigit() or not 1 <= int(text) < 2**62:
        raise ConfigError(f"{source}: expected a whole number of {unit} above 0, not {value!r}")
    return int(text)
