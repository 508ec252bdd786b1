"""What the Go client (and so Grafana's data source) needs beyond plain HTTP.

It reads Native blocks as over TCP: each is preceded by a BlockInfo. Its first query asks for name, version,
protocol revision and time zone, and it decodes that answer at its own, newest revision, where each column
also says whether its serialisation is custom. The answer names revision 54405, after which later blocks need
the BlockInfo only.
"""

REVISION = 54405
BLOCK_INFO = b"\x01\x00\x02\xff\xff\xff\xff\x00"
"""Field 1 (overflows): 0; field 2 (bucket): -1; end."""


def is_greeting(sql: str) -> bool:
    """Whether this is the Go client's first query."""
    return "displayName()" in sql and "revision()" in sql


def greeting(version: str) -> bytes:
    """One Native block of four columns and one row."""
    columns = (
        ("displayName()", "String", _text("pdscope")),
        ("version()", "String", _text(version)),
        ("revision()", "UInt32", REVISION.to_bytes(4, "little")),
        ("timezone()", "String", _text("UTC")),
    )
    block = b"".join(_text(name) + _text(kind) + b"\x00" + data for name, kind, data in columns)
    return BLOCK_INFO + bytes([len(columns), 1]) + block


def _text(text: str) -> bytes:
    data = text.encode()
    return bytes([len(data)]) + data
