"""The row policies of a server, parsed by the real engine. The embedded one has no users to run them for."""

import pytest

from collector.errors import ConfigError
from collector.store import Store
from collector.store.place import place_of
from collector.store.row_policies import row_policies


@pytest.mark.parametrize("target", ["clickhouse://h/d", "clickhouse+cluster://h/d?cluster=pd"])
def test_the_engine_parses_every_statement(target: str, store: Store) -> None:
    statements = row_policies(place_of(target))
    assert len(statements) == 4
    for sql in statements:
        assert store.query(f"EXPLAIN AST {sql}")
        assert ("ON CLUSTER pd" in sql) == ("cluster" in target)


def test_what_tenants_may_read_names_their_rows(store: Store) -> None:
    granted = [
        word.strip(", ") for word in row_policies(place_of("clickhouse://h/d"))[-1].split("SELECT ON ")[1:]
    ]
    names = [text.split()[0].strip(",") for text in granted]
    assert names == ["requests", "request_log", "request_phases"]
    for name in names:
        assert store.query(f"SELECT tenant FROM {name} LIMIT 0") == []
    # the views are read with their reader's rights and from `requests` alone, so its policy holds for them
    for name in names[1:]:
        text = store.query(
            "SELECT create_table_query FROM system.tables WHERE name = {name:String}", {"name": name}
        )
        assert "SQL SECURITY" not in text[0][0]
        assert "requests FINAL" in text[0][0]


def test_an_embedded_store_has_none() -> None:
    with pytest.raises(ConfigError, match="for a ClickHouse server"):
        row_policies(place_of(":memory:"))
