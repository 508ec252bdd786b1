"""Who may send, and whose what they send then is."""

from dataclasses import dataclass

from collector.receive.errors import Unauthorized
from collector.tokens import Right, Tokens


@dataclass(frozen=True)
class Sender:
    """Who sent an export: the tenant of its token (None when the token names none), and from where."""

    source: str
    tenant: str | None = None


class Access:
    """Lets senders in. Without any token everyone may send: the listeners are then on loopback only."""

    def __init__(self, tokens: Tokens | None = None):
        self._tokens = tokens or Tokens()

    def sender(self, authorization: bytes, source: str) -> Sender:
        """Who an `Authorization` header names. Raises Unauthorized."""
        if not self._tokens:
            return Sender(source)
        found = self._tokens.of_bearer(authorization)
        if not found:
            raise Unauthorized("this pdscope needs a token: send `Authorization: Bearer …`")
        may = [grant for grant in found if grant.right is not Right.READ]
        if not may:
            raise Unauthorized("this token reads; sending needs one with the right `ingest`")
        return Sender(source, may[0].tenant)
