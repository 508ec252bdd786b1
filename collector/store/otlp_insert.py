"""OTLP bodies into the embedded engine's entry tables, from memory."""

import os
from collections.abc import Sequence

from clickhouse_connect.driver.binding import format_str
from clickhouse_connect.driver.client import Client

from collector.store.otlp_body import OtlpKind

_FILES = "/proc/self/fd"


def insert_otlp(client: Client, kind: OtlpKind, block: Sequence[bytes]) -> None:
    """Insert one message, given in pieces; the views on the entry table type it. Raises ClickHouseError.

    The engine reads inserts from files. This one lies in memory where the system can do that (Linux): bodies
    may hold prompts, and a file would survive a process that is killed.
    """
    if not hasattr(os, "memfd_create") or not os.path.isdir(_FILES):
        client.raw_insert(
            kind.table, insert_block=b"".join(block), settings=dict(kind.settings), fmt="ProtobufSingle"
        )
        return
    settings = ", ".join(f"{name} = {format_str(str(value))}" for name, value in kind.settings.items())
    with os.fdopen(os.memfd_create("otlp", os.MFD_CLOEXEC), "wb", buffering=0) as file:
        for piece in block:
            _write(file.fileno(), piece)
        client.command(
            f"INSERT INTO {kind.table} FROM INFILE '{_FILES}/{file.fileno()}' "
            f"SETTINGS {settings} FORMAT ProtobufSingle"
        )


def _write(file: int, piece: bytes) -> None:
    """All of it: one write may take less, from 2 GiB on."""
    view = memoryview(piece)
    while view:
        view = view[os.write(file, view) :]
