"""An OTLP/HTTP body: its content type, its encoding, and gzip that cannot grow past the limit."""

import zlib
from collections.abc import Mapping

from collector.errors import BadBody
from collector.receive.errors import BodyTooLarge, UnsupportedBody
from collector.receive.otlp_json import parse_json
from collector.receive.signal import Signal

PROTOBUF = "application/x-protobuf"
JSON = "application/json"


def content_type(headers: Mapping[bytes, bytes]) -> str:
    """PROTOBUF or JSON. Raises UnsupportedBody."""
    given = headers.get(b"content-type", b"").decode("latin-1")
    kind = given.partition(";")[0].strip().lower()
    if kind in (PROTOBUF, "application/protobuf"):
        return PROTOBUF
    if kind == JSON:
        return JSON
    raise UnsupportedBody(f"content type {given!r}: OTLP/HTTP takes {PROTOBUF} or {JSON}")


def decompress(body: bytes, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """Undo Content-Encoding. Raises UnsupportedBody, BadBody, BodyTooLarge (past `limit`)."""
    encoding = headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise UnsupportedBody(f"content encoding {encoding!r}: OTLP/HTTP takes gzip or none")
    out = bytearray()
    while body:
        member = zlib.decompressobj(wbits=31)
        try:
            out += member.decompress(body, limit + 1 - len(out))
        except zlib.error as error:
            raise BadBody(f"the body is not gzip: {error}") from error
        if len(out) > limit:
            raise BodyTooLarge(
                f"the body is more than {limit} bytes once decompressed, the limit of this pdscope"
            )
        if not member.eof:
            raise BadBody(f"the gzip body is cut short after {len(body)} bytes")
        body = member.unused_data
    return bytes(out)


def to_protobuf(body: bytes, kind: str, signal: Signal = Signal.TRACES) -> bytes:
    """The body as the signal's serialized request. Raises BadBody."""
    return body if kind == PROTOBUF else parse_json(body, signal).SerializeToString()
