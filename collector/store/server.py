"""A ClickHouse server over HTTP: OTLP is parsed here, the server only stores the rows."""

import time
import uuid
from collections.abc import Iterable, Sequence
from functools import cached_property

import clickhouse_connect
import lz4.frame
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from collector.errors import StoreError
from collector.sql import read_sql
from collector.store.engine import SETTINGS
from collector.store.migrate import Migration
from collector.store.otlp_body import OtlpKind, one_message
from collector.store.otlp_parser import OtlpParser
from collector.store.place import Server
from collector.store.schema_forms import cluster_statements

SETTLE_S = 6
"""Seconds after which a logged insert counts as settled: every insert that may have a lower or equal sequence
is stored by then.
"""
_INSERT_S = SETTLE_S / 2 - 0.5
"""An insert that took longer (seconds) is stored again under a new sequence; doubles are told apart later."""

_ASKED_EVERY_S = 1.0


class ServerEngine:
    """One collector's way to a server or cluster that others write to as well."""

    def __init__(self, place: Server):
        self._place = place
        self._private: tuple[str, ...] = ()
        self._collector = uuid.uuid4().hex
        self._asked_at = 0.0
        self._settled = 0

    def connect(self) -> Client:
        """Make an HTTP client, compressing both ways. Raises StoreError naming the server and what failed."""
        place = self._place
        try:
            return clickhouse_connect.get_client(
                host=place.host,
                port=place.port,
                username=place.user,
                password=place.password,
                database=place.database,
                secure=place.secure,
                compress="lz4",
                settings={name: value for name, value in SETTINGS.items() if name != "session_timezone"},
                tz_mode="naive_utc",
                # lists of traces are longer than servers let an address be
                form_encode_query_params=True,
                autogenerate_session_id=False,
                connect_timeout=5,
                send_receive_timeout=60,
            )
        except ClickHouseError as error:
            raise StoreError(
                f"cannot reach the store at {place}: {str(error).strip().splitlines()[0][:300]}; "
                "see that the server runs and that --store names it"
            ) from error

    def statements(self, migration: Migration) -> list[str]:
        """As the file says, or for every node of the cluster."""
        if self._place.cluster:
            return cluster_statements(migration.sql, self._place.cluster)
        return [migration.sql]

    def insert(self, client: Client, kind: OtlpKind, block: Sequence[bytes], sequence: int) -> None:
        """Parse here, send rows by table; the log goes last and says that the rest is there."""
        began = time.monotonic()
        self._send(client, kind, block, sequence)
        if time.monotonic() - began > _INSERT_S:
            again = self.next_sequence(client, sequence)
            self._send(client, kind, [*block, *one_message([], again)], again)

    def next_sequence(self, client: Client, own: int) -> int:
        """One above what anyone has logged. Two collectors may take the same: it only orders, never names."""
        logged = client.query(read_sql(__file__, "last_sequence")).result_rows[0][0]
        return max(own, int(logged)) + 1

    def last_sequence(self, client: Client, own: int) -> int:
        """Asked of the server at most once a second."""
        now = time.monotonic()
        if now - self._asked_at > _ASKED_EVERY_S:
            sql = read_sql(__file__, "settled_sequence")
            self._settled = int(client.query(sql, parameters={"settle_s": SETTLE_S}).result_rows[0][0])
            self._asked_at = now
        return self._settled

    @property
    def behind_s(self) -> float:
        """From the journal into the log, until that counts as settled, until this is asked for."""
        return _INSERT_S + SETTLE_S + _ASKED_EVERY_S

    def quiet_s(self, client: Client, own: float) -> float:
        """By the server's log and clock, in whole seconds."""
        return float(client.query(read_sql(__file__, "quiet_seconds")).result_rows[0][0])

    def keep_private(self, names: Iterable[str]) -> None:
        """Values are dropped here, before anything is sent."""
        self._private = tuple(names)

    def announce(self, api: str) -> None:
        """A server has no directory to look into: REST is asked by its address."""

    def close(self) -> None:
        """End the parser."""
        if "_parser" in self.__dict__:
            self._parser.close()

    @cached_property
    def _parser(self) -> OtlpParser:
        """Made for the first insert: who only reads needs none."""
        parser = OtlpParser()
        parser.keep_private(self._private)
        return parser

    def _send(self, client: Client, kind: OtlpKind, block: Sequence[bytes], sequence: int) -> None:
        for rows in self._parser.parse(kind, block):
            client.raw_insert(
                rows.table,
                column_names=list(rows.columns),
                insert_block=lz4.frame.compress(rows.native),
                compression="lz4",
                fmt="Native",
                settings={"insert_deduplication_token": f"{self._collector}-{sequence}-{rows.table}"},
            )
