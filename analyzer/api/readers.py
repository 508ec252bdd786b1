"""Who asks: what a caller's token lets it see."""

from dataclasses import dataclass

from analyzer.api.errors import ApiError
from collector.tokens import Right, Tokens

API = "/api/v1"
OF_ONE_TENANT = (
    "/slo",
    "/slo/timeseries",
    "/slo/report",
    "/latency",
    "/requests",
    "/diagnosis",
    "/attribution",
    "/workload",
    "/compare",
    "/openapi.json",
)
"""Calls that answer about one tenant's requests alone when told to. All others are about shared machines."""


class Unauthorized(ApiError):
    """No token, or one that is not known."""

    def __init__(self) -> None:
        super().__init__(401, "unauthorized", "this pdscope needs a token: send `Authorization: Bearer …`")


class Forbidden(ApiError):
    """The token is known and does not reach so far."""

    def __init__(self, message: str, field: str | None = None):
        super().__init__(403, "forbidden", message, field)


COMPUTED = ("/plan", "/gate")
"""Calls with a body that only work something out, and change nothing."""


@dataclass(frozen=True)
class Reader:
    """Who asks. `tenant` None sees every tenant; `name` is what the audit log calls the caller."""

    name: str
    tenant: str | None = None
    admin: bool = False

    def check(self, path: str, method: str) -> None:
        """Raise Forbidden when the call is not this reader's to make."""
        if method not in ("GET", "HEAD", "OPTIONS") and not self.admin and not _computed(path):
            raise Forbidden(
                f"{method} {path} changes what is stored: it needs a token with the right `admin`"
            )
        if self.tenant is not None and not _of_one_tenant(path):
            raise Forbidden(f"{path} is about machines that tenants share; this token reads one tenant")

    def tenant_asked(self, tenant: str) -> str:
        """The tenant to answer about: the reader's own where it has one. Raises Forbidden for another's."""
        if self.tenant is None or tenant == self.tenant:
            return tenant
        if tenant:
            raise Forbidden(f"tenant: this token reads {self.tenant!r} only", "tenant")
        return self.tenant


class Readers:
    """Tells callers by their tokens. Where no token lets anyone read, everyone may: REST is on loopback."""

    def __init__(self, tokens: Tokens):
        self._tokens = tokens

    def reader(self, authorization: bytes, source: str) -> Reader:
        """Who an `Authorization` header names; `source` is the caller's address.

        Raises Unauthorized, Forbidden.
        """
        if not self._tokens.guard_reading:
            return Reader(source, admin=True)
        found = self._tokens.of_bearer(authorization)
        if not found:
            raise Unauthorized
        grants = sorted(
            (grant for grant in found if grant.right is not Right.INGEST),
            key=lambda grant: (grant.right is not Right.ADMIN, grant.tenant is not None),
        )
        if not grants:
            raise Forbidden("this token sends telemetry; asking needs one with the right `read`")
        return Reader(grants[0].name, grants[0].tenant, grants[0].right is Right.ADMIN)


def _computed(path: str) -> bool:
    call = path.removeprefix(API)
    return call != path and call in COMPUTED


def _of_one_tenant(path: str) -> bool:
    call = path.removeprefix(API)
    return call != path and (call in OF_ONE_TENANT or call.startswith("/requests/"))
