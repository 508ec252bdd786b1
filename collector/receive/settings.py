"""Settings of the OTLP listeners and the batcher behind them."""

from dataclasses import dataclass

from collector.errors import ConfigError

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class ReceiveSettings:
    """Where to listen and how much to hold. Sizes in bytes, times in seconds; port 0 picks a free port."""

    grpc_address: str = "127.0.0.1:4317"
    http_address: str = "127.0.0.1:4318"
    max_body_bytes: int = 16 * MEBIBYTE
    """Largest export, after decompression."""
    max_batch_bytes: int = 16 * MEBIBYTE
    """One insert takes up to this much."""
    linger: float = 0.04
    """How long a body waits for others to share its insert, which alone costs as much as 5,000 spans."""
    max_queue_bytes: int = 128 * MEBIBYTE
    """Beyond this, clients are told to come back."""
    max_concurrent_exports: int = 2048
    retry_after: float = 1.0
    """What refused clients are told to wait."""
    body_timeout: float = 30.0
    """How long a client may take to send one HTTP body."""
    own_span_ratio: float = 0.01
    """Share of pdscope's own receive and insert operations that become spans."""


def host_and_port(address: str, setting: str) -> tuple[str, int]:
    """Split 'HOST:PORT' ('[::1]:4317' for IPv6). Raises ConfigError naming the setting."""
    host, separator, port = address.rpartition(":")
    if not separator or not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(
            f"{setting} is {address!r}: expected HOST:PORT with a port of 0 to 65535, as in 127.0.0.1:4317"
        )
    return host.strip("[]"), int(port)
