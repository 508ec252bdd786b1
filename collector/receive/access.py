"""Who may send: bearer tokens, one or more per tenant, kept as hashes and compared in constant time."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from collector.config_file import read_config
from collector.errors import ConfigError
from collector.receive.errors import Unauthorized

_PREFIX = "sha256:"
MAX_TENANT = 128


@dataclass(frozen=True)
class Sender:
    """Who sent an export: the tenant of its token (None when the token names none), and from where."""

    source: str
    tenant: str | None = None


class Access:
    """Lets senders in. Without any token everyone may send: the listeners are then on loopback only."""

    def __init__(self, token: str | None = None, tenants: Mapping[str, Sequence[bytes]] | None = None):
        """token: the operator's, which names no tenant; tenants: SHA-256 digests of each tenant's tokens."""
        self._known: list[tuple[bytes, str | None]] = []
        if token:
            self._known.append((_digest(token.encode()), None))
        for tenant, digests in (tenants or {}).items():
            self._known += [(digest, tenant) for digest in digests]

    def sender(self, authorization: bytes, source: str) -> Sender:
        """Who an `Authorization` header names. Raises Unauthorized."""
        if not self._known:
            return Sender(source)
        kind, _, given = authorization.partition(b" ")
        digest = _digest(given.strip())
        found: list[str | None] = []
        # All are compared, whatever was found: the time taken tells nothing.
        for known, tenant in self._known:
            if hmac.compare_digest(known, digest):
                found.append(tenant)
        if not found or kind.lower() != b"bearer":
            raise Unauthorized("this pdscope needs a token: send `Authorization: Bearer …`")
        return Sender(source, found[0])


def read_tenants(path: Path) -> dict[str, list[bytes]]:
    """Read a YAML file of `tenant: sha256:…` or `tenant: [sha256:…, …]`. Raises ConfigError."""
    root = read_config(path)
    if not isinstance(root.value, dict) or not root.value:
        raise root.error("expected a mapping of tenants to token hashes, as `pdscope token` prints them")
    tenants: dict[str, list[bytes]] = {}
    for tenant, node in root.value.items():
        if not 0 < len(tenant) <= MAX_TENANT:
            raise node.error(f"a tenant's name has 1 to {MAX_TENANT} characters")
        hashes = node.items("token hashes") if isinstance(node.value, list) else [node]
        if not hashes:
            raise node.error(f"tenant {tenant!r} has no token hash")
        tenants[tenant] = [_parse_hash(item.value, item.where) for item in hashes]
    return tenants


def new_token() -> tuple[str, str]:
    """A fresh token of 256 random bits, and its hash as the tenants file holds it."""
    token = "pds_" + secrets.token_urlsafe(32)
    return token, _PREFIX + _digest(token.encode()).hex()


def _digest(token: bytes) -> bytes:
    # Tokens are random: a plain hash cannot be guessed back, and costs nothing per export.
    return hashlib.sha256(token).digest()


def _parse_hash(value: object, where: str) -> bytes:
    text = value if isinstance(value, str) else ""
    digest = b""
    if text.startswith(_PREFIX):
        try:
            digest = bytes.fromhex(text.removeprefix(_PREFIX))
        except ValueError:
            digest = b""
    if len(digest) != 32:
        # The value is not repeated: it may be a token written down by mistake.
        raise ConfigError(
            f"{where}: expected {_PREFIX} and 64 hexadecimal digits; `pdscope token` makes them"
        )
    return digest
