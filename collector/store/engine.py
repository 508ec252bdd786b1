"""What a store needs of the ClickHouse behind it; one implementation embedded, one for servers."""

import os
from collections.abc import Iterable, Sequence
from typing import Protocol

from clickhouse_connect.driver.client import Client

from collector.store.migrate import Migration
from collector.store.otlp_body import OtlpKind

SETTINGS = {
    "session_timezone": "UTC",
    "async_insert": 0,
    "use_query_condition_cache": 0,
    # compiling expressions costs a step more than it saves
    "compile_expressions": 0,
    "compile_aggregate_expressions": 0,
    "compile_sort_description": 0,
}
"""Settings of every session of ours."""


def take_large_pages() -> None:
    """Let the embedded engine's allocator take memory in large pages, where the system has them to give.

    It reads this once, when the engine is loaded. Without, the system hands out 27,000 small pages for every
    32 MB of spans, a tenth of what storing them costs. Whoever set the variable is left to it.
    """
    os.environ.setdefault("JE_MALLOC_CONF", "thp:always")


class Engine(Protocol):
    """A ClickHouse. Methods raise ClickHouseError; what they mean is the store's to say."""

    def connect(self) -> Client:
        """Make a client for one thread. Raises StoreBusy or StoreError when there is none to be had."""
        ...

    def statements(self, migration: Migration) -> list[str]:
        """The statements by which this engine takes a migration."""
        ...

    def insert(self, client: Client, kind: OtlpKind, block: Sequence[bytes], sequence: int) -> None:
        """Parse a message of OTLP, given in pieces, and store it; it can be read when this returns."""
        ...

    def next_sequence(self, client: Client, own: int) -> int:
        """The sequence for the next insert, above `own` and whatever others have used."""
        ...

    def last_sequence(self, client: Client, own: int) -> int:
        """The newest sequence up to which every insert can be read; `own` is this store's newest."""
        ...

    @property
    def behind_s(self) -> float:
        """How long (seconds) what another process acknowledged may be missing from `last_sequence`."""
        ...

    def quiet_s(self, client: Client, own: float) -> float:
        """Seconds since anyone stored spans; `own` is how long this process has not."""
        ...

    def keep_private(self, names: Iterable[str]) -> None:
        """Values of attributes of these names are never stored."""
        ...

    def announce(self, api: str) -> None:
        """Tell other processes at which REST address this one can be asked."""
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...
