# ruff: noqa: E501
"""The cluster's DDL, made from the migration files and parsed by the real engine. It was run nowhere else."""

import re

import pytest

from collector.errors import DestructiveMigration
from collector.store import Store
from collector.store.migrate import RECORD, Migration, as_written, destructive, migrate, migrations
from collector.store.schema_forms import cluster_statements

ALL = [RECORD, *migrations()]


@pytest.mark.parametrize("step", ALL, ids=lambda step: step.name)
def test_the_engine_parses_every_statement_of_the_cluster(step: Migration, store: Store) -> None:
    for sql in cluster_statements(step.sql, "pd"):
        tree = "\n".join(str(row[0]) for row in store.query(f"EXPLAIN AST {sql}"))
        assert re.match(r"(CreateQuery|AlterQuery)", tree)
        assert "ON CLUSTER pd" in sql


def test_rows_are_sharded_by_request_and_small_tables_held_whole() -> None:
    made = {step.name: cluster_statements(step.sql, "pd") for step in ALL}
    local, spread = made["requests"]
    assert "CREATE TABLE requests_local ON CLUSTER pd" in local
    assert (
        "ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{database}/requests/{shard}', '{replica}', version)"
    ) in local
    assert "Distributed('pd', currentDatabase(), 'requests_local', cityHash64(request_key))" in spread
    (whole,) = made["resources"]
    assert "ReplicatedReplacingMergeTree('/clickhouse/tables/{database}/resources/all'" in whole
    assert [sql.split(" ON ")[0].splitlines()[-1] for sql in made["transfers_ingested"]] == [
        "ALTER TABLE transfers_local",
        "ALTER TABLE transfers",
    ]


def test_every_sharded_table_has_its_key(store: Store) -> None:
    from collector.store.schema_forms import _SHARDED_BY

    for table, key in _SHARDED_BY.items():
        assert store.query(f"SELECT {key} FROM {table} LIMIT 0") == []


@pytest.mark.parametrize("name", ["", "a b", "x; DROP TABLE y", "'"])
def test_a_clusters_name_is_a_word(name: str) -> None:
    with pytest.raises(ValueError, match="not a cluster's name"):
        cluster_statements(migrations()[0].sql, name)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("ALTER TABLE spans DROP COLUMN name", "DROP COLUMN"),
        ("drop table spans", "DROP TABLE"),
        ("TRUNCATE TABLE spans", "TRUNCATE"),
        ("ALTER TABLE spans MODIFY COLUMN name String", "MODIFY COLUMN"),
        ("ALTER TABLE spans DELETE WHERE 1", "DELETE"),
        ("DROP VIEW judged_requests", None),
        ("-- DROP TABLE spans\nCREATE VIEW x AS SELECT 'DROP TABLE spans'", None),
        ("ALTER TABLE spans ADD COLUMN a Int8", None),
    ],
)
def test_what_can_lose_data_is_known(sql: str, words: str | None) -> None:
    assert destructive(sql) == words


def test_a_destructive_step_is_not_applied_unasked_nor_those_before_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [
        *migrations(),
        Migration(9998, "adds", "CREATE TABLE added (a Int8) ENGINE = Memory"),
        Migration(9999, "drops", "DROP TABLE added"),
    ]
    monkeypatch.setattr("collector.store.migrate.migrations", lambda: steps)
    with pytest.raises(DestructiveMigration, match=r"9999_drops holds DROP TABLE.*--allow-destructive"):
        migrate(store)
    assert store.query("EXISTS TABLE added") == [(0,)]
    assert [step.number for step in migrate(store, as_written, allow_destructive=True)] == [9998, 9999]
    store.command("ALTER TABLE schema_migrations DELETE WHERE number > 9000 SETTINGS mutations_sync = 1")
