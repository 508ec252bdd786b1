"""What a ClickHouse client asks over HTTP: the statement, its parameters and settings, who asks."""

import base64
import binascii
import email
import email.message
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from collector.endpoint.errors import BadRequest
from collector.endpoint.word_lists import words

MAX_BODY_BYTES = 1 << 20


@dataclass(frozen=True)
class Asked:
    """One request, taken apart. `params` are the values of `{name:Type}`, `settings` the rest."""

    sql: str
    params: Mapping[str, str]
    settings: Mapping[str, str]
    options: Mapping[str, str]
    """What is about the transport: `query_id`, `database`, `client_protocol_version` …"""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def default_format(self) -> str:
        """The format of the answer unless the statement names one."""
        return self.options.get("default_format") or self.headers.get("x-clickhouse-format") or "TabSeparated"

    @property
    def revision(self) -> int:
        """The protocol revision the client reads Native blocks at; 0 when it names none."""
        text = self.options.get("client_protocol_version", "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0

    def secret(self) -> str:
        """The token or password sent, wherever ClickHouse clients put it; '' when there is none."""
        kind, _, given = self.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return given.strip()
        if kind.lower() == "basic":
            return _basic_password(given)
        return self.headers.get("x-clickhouse-key") or self.options.get("password", "")


def take_apart(query_string: bytes, headers: Mapping[str, str], body: bytes) -> Asked:
    """Read a request. Raises BadRequest saying what is wrong with it."""
    values = _pairs(query_string.decode("latin-1"))
    body = _decompressed(body, headers.get("content-encoding", ""))
    kind = headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        values |= _form(kind, body)
        body = b""
    for name in ("compress", "decompress"):
        if values.get(name, "0") not in ("0", "false"):
            raise BadRequest(f"{name}=1 is not spoken here; use HTTP compression (Accept-Encoding: gzip)")
    text = _utf8(body)
    query = values.get("query", "")
    params = {name[6:]: value for name, value in values.items() if name.startswith("param_")}
    return Asked(
        sql=f"{query}\n{text}" if query and text else query or text,
        params=params,
        settings={
            name: value
            for name, value in values.items()
            if name not in words("transport") and not name.startswith("param_")
        },
        options={name: value for name, value in values.items() if name in words("transport")},
        headers=headers,
    )


def _pairs(query_string: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query_string, keep_blank_values=True, errors="strict", max_num_fields=1000)
    except ValueError as error:
        raise BadRequest(f"the query string cannot be read: {error}") from error
    values = dict(pairs)
    if len(values) != len(pairs):
        raise BadRequest("a name is given twice in the query string")
    return values


def _decompressed(body: bytes, encoding: str) -> bytes:
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "deflate"):
        raise BadRequest(f"a body in {encoding} is not read here; send it plain or in gzip")
    unzip = zlib.decompressobj(wbits=31 if encoding == "gzip" else 15)
    try:
        plain = unzip.decompress(body, MAX_BODY_BYTES + 1)
    except zlib.error as error:
        raise BadRequest(f"the body is not {encoding}: {error}") from error
    if len(plain) > MAX_BODY_BYTES:
        raise BadRequest(f"the body is more than {MAX_BODY_BYTES} bytes")
    return plain


def _form(content_type: str, body: bytes) -> dict[str, str]:
    message = email.message_from_bytes(
        b"Content-Type: " + content_type.encode("latin-1") + b"\r\n\r\n" + body
    )
    if not message.is_multipart():
        raise BadRequest("the form cannot be read")
    values = {}
    for part in message.get_payload():
        if not isinstance(part, email.message.Message):
            raise BadRequest("the form cannot be read")
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes):
            raise BadRequest("the form has a part without a name, or a form within the form")
        values[name] = _utf8(content)
    return values


def _basic_password(given: str) -> str:
    try:
        return base64.b64decode(given.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest(f"the statement is not UTF-8: {error}") from error
