"""Bearer tokens: what each one lets its holder do, kept as hashes and compared in constant time.

A tokens file gives each tenant tokens to send with, to read with, or both; `*` stands for every tenant:

    acme: sha256:5b0c…                 # sends
    globex:
      ingest: [sha256:91d2…, sha256:07aa…]
      read: sha256:3f10…               # sees globex's requests and figures, no other's
    "*":
      read: sha256:c2a9…               # sees all: Grafana, Prometheus
      admin: sha256:77e4…              # what PDSCOPE_TOKEN may
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from collector.config_file import Node, read_config
from collector.errors import ConfigError

_PREFIX = "sha256:"
MAX_TENANT = 128
EVERY_TENANT = "*"


class Right(StrEnum):
    """What a token is for."""

    INGEST = "ingest"
    """Send telemetry over OTLP."""
    READ = "read"
    """Ask: REST, the page, and (for every tenant only) the ClickHouse endpoint and `/metrics`."""
    ADMIN = "admin"
    """Everything, imports included."""


@dataclass(frozen=True)
class Grant:
    """One right of one token. `tenant` None: for every tenant."""

    digest: bytes
    right: Right
    tenant: str | None = None

    @property
    def name(self) -> str:
        """How logs call the token: never the token, nor enough of its hash to tell it by."""
        return f"{self.tenant or EVERY_TENANT}:{self.right}:{self.digest[:4].hex()}"


class Tokens:
    """Every token this process knows."""

    def __init__(self, operator: str | None = None, grants: Iterable[Grant] = ()):
        """operator: the token of the settings, which may do everything."""
        own = [Grant(digest_of(operator.encode()), Right.ADMIN)] if operator else []
        self._grants = (*own, *grants)

    def __bool__(self) -> bool:
        return bool(self._grants)

    @property
    def guard_reading(self) -> bool:
        """Whether any token lets someone read: then nobody reads without one."""
        return any(grant.right is not Right.INGEST for grant in self._grants)

    def of(self, secret: bytes) -> list[Grant]:
        """What a token grants; empty for one that is not known."""
        digest = digest_of(secret)
        # All are compared, whatever was found: the time taken tells nothing.
        return [grant for grant in self._grants if hmac.compare_digest(grant.digest, digest)]

    def of_bearer(self, authorization: bytes) -> list[Grant]:
        """What an `Authorization` header grants."""
        kind, _, given = authorization.partition(b" ")
        found = self.of(given.strip())
        return found if kind.lower() == b"bearer" else []


def read_tokens(path: Path) -> list[Grant]:
    """Read a tokens file. Raises ConfigError naming the line, never the value."""
    root = read_config(path)
    if not isinstance(root.value, dict) or not root.value:
        raise root.error("expected a mapping of tenants to token hashes, as `pdscope token` prints them")
    grants: list[Grant] = []
    for tenant, node in root.value.items():
        if not 0 < len(tenant) <= MAX_TENANT:
            raise node.error(f"a tenant's name has 1 to {MAX_TENANT} characters")
        grants += _of_tenant(tenant, node)
    return grants


def new_token() -> tuple[str, str]:
    """A fresh token of 256 random bits, and its hash as the tokens file holds it."""
    token = "pds_" + secrets.token_urlsafe(32)
    return token, _PREFIX + digest_of(token.encode()).hex()


def digest_of(token: bytes) -> bytes:
    """SHA-256 of a token. Tokens are random: a plain hash cannot be guessed back, and costs nothing."""
    return hashlib.sha256(token).digest()


def _of_tenant(tenant: str, node: Node) -> list[Grant]:
    by_right = {Right.INGEST: node}
    if isinstance(node.value, dict):
        fields = node.fields(f"tenant {tenant!r}", [right.value for right in Right])
        by_right = {Right(name): value for name, value in fields.items()}
    if Right.ADMIN in by_right and tenant != EVERY_TENANT:
        raise node.error(f"tenant {tenant!r}: admin is for every tenant; write it under {EVERY_TENANT!r}")
    found = [
        Grant(_parse_hash(item), right, None if tenant == EVERY_TENANT else tenant)
        for right, value in by_right.items()
        for item in (value.items("token hashes") if isinstance(value.value, list) else [value])
    ]
    if not found:
        raise node.error(f"tenant {tenant!r} has no token hash")
    return found


def _parse_hash(node: Node) -> bytes:
    text = node.value if isinstance(node.value, str) else ""
    digest = b""
    if text.startswith(_PREFIX):
        try:
            digest = bytes.fromhex(text.removeprefix(_PREFIX))
        except ValueError:
            digest = b""
    if len(digest) != 32:
        # The value is not repeated: it may be a token written down by mistake.
        raise ConfigError(
            f"{node.where}: expected {_PREFIX} and 64 hexadecimal digits; `pdscope token` makes them"
        )
    return digest
