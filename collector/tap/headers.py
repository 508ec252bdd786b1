"""Which headers cross the proxy (RFC 9110, section 7.6.1)."""

from collections.abc import Iterable

from multidict import CIMultiDict, CIMultiDictProxy

HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
REPLACED = frozenset({"host", "traceparent", "tracestate", "x-request-id"})


def end_to_end(headers: CIMultiDictProxy[str], without: Iterable[str] = ()) -> CIMultiDict[str]:
    """The headers that belong to the message rather than to one connection, in their order."""
    named = {
        token.strip().lower() for value in headers.getall("Connection", ()) for token in value.split(",")
    }
    dropped = HOP_BY_HOP | named | set(without)
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in dropped)
