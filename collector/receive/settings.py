"""Settings of the OTLP listeners and what is behind them."""

from dataclasses import dataclass
from pathlib import Path

from collector.errors import ConfigError

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Tls:
    """Files of TLS, all PEM. With `client_ca` clients must show a certificate it signed (mutual TLS)."""

    certificate: Path
    key: Path
    client_ca: Path | None = None


@dataclass(frozen=True)
class ReceiveSettings:
    """Where to listen and how much to hold. Sizes in bytes, times in seconds; port 0 picks a free port."""

    grpc_address: str = "127.0.0.1:4317"
    http_address: str = "127.0.0.1:4318"
    max_body_bytes: int = 16 * MEBIBYTE
    """Largest export, after decompression."""
    max_items: int = 100_000
    """Most spans or points in one export."""
    max_batch_bytes: int = 32 * MEBIBYTE
    """One insert takes up to this much: planning it costs the same whatever is in it, but memory grows."""
    linger: float = 0.04
    """How long a body waits for others to share its insert, which alone costs as much as 5,000 spans."""
    journal_linger: float = 0.004
    """The same where only a write to the journal is shared."""
    insert_linger: float = 0.5
    """How long what is in the journal waits for company before it is stored: an insert costs some 45 ms of
    CPU, however small.
    """
    max_queue_bytes: int = 128 * MEBIBYTE
    """Beyond this, clients are told to come back."""
    max_memory_bytes: int | None = None
    """The same, for the memory of the whole process."""
    max_concurrent_exports: int = 2048
    max_connections: int = 1024
    """Connections of each listener."""
    source_bytes_per_s: int | None = None
    """How much one tenant, or one address without a tenant, may send."""
    retry_after: float = 1.0
    """What refused clients are told to wait."""
    body_timeout: float = 30.0
    """How long a client may take to send one HTTP body."""
    header_timeout: float = 10.0
    """How long a client may take to send the headers of one HTTP request."""
    scrub: bool = False
    """Take private attributes out before anything touches the disk."""
    own_span_ratio: float = 0.01
    """Share of pdscope's own receive and insert operations that become spans."""
    tls: Tls | None = None


def host_and_port(address: str, setting: str) -> tuple[str, int]:
    """Split 'HOST:PORT' ('[::1]:4317' for IPv6). Raises ConfigError naming the setting."""
    host, separator, port = address.rpartition(":")
    if not separator or not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(
            f"{setting} is {address!r}: expected HOST:PORT with a port of 0 to 65535, as in 127.0.0.1:4317"
        )
    return host.strip("[]"), int(port)
