# ruff: noqa: E501
"""Rows go by the time they were stored, by whole parts; what they tell of may be as old as it likes."""

import time
from datetime import UTC, datetime, timedelta

from collector.store import Store
from collector.store.retention import Retention, apply_retention
from tests.api.rows import a_request, insert

IDS = ("trace_id", "span_id", "parent_id")


def days_ago(days: int) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


def days_of(store: Store, table: str) -> str:
    sql = "SELECT create_table_query FROM system.tables WHERE name = {table:String}"
    return str(store.query(sql, {"table": table})[0][0])


def test_it_is_set_where_it_differs_and_only_there(store: Store) -> None:
    assert "spans" in apply_retention(store, Retention())
    assert apply_retention(store, Retention()) == []
    assert apply_retention(store, Retention(requests_days=30)) == [
        *("requests", "identity", "transfers", "span_owners", "request_causes_kept")
    ]
    assert "toIntervalDay(_CAST(30, 'UInt32'))" in days_of(store, "requests")
    assert "ttl_only_drop_parts = 1" in days_of(store, "requests")


def test_old_rows_go_and_new_rows_about_old_times_stay(store: Store) -> None:
    apply_retention(store, Retention())
    insert(store, [a_request(name="imported") | {"first_bucket": datetime(2020, 1, 1, tzinfo=UTC)}])
    for age in (13, 15):
        store.insert("spans", [[b"t" * 16, b"s" * 8, bytes(8), days_ago(age)]], [*IDS, "ingested_at"])
    store.command(
        "INSERT INTO requests (request_key, request_id, ingested_at) SELECT 'k', 'old', now() - 91 * 86400"
    )
    sql = "SELECT (SELECT groupArray(dateDiff('day', ingested_at, now())) FROM spans), (SELECT groupArray(request_id) FROM requests)"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and store.query(sql)[0] != ([13], ["imported"]):
        time.sleep(0.2)
    assert store.query(sql)[0] == ([13], ["imported"])


def test_the_sequence_goes_on_when_the_log_of_old_inserts_is_gone(store: Store) -> None:
    store.insert("assembly_progress", [[0, 41, 41]], ["id", "ingest_sequence", "version"])
    store.command("TRUNCATE TABLE ingest_log")
    from collector.sql import read_sql
    from collector.store import store as module

    assert store.query(read_sql(module.__file__, "last_sequence")) == [(41,)]
