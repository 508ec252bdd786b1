# ruff: noqa: E501
"""Collectors that write to a server: the real HTTP client, against the endpoint's inserting variant."""

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import clickhouse_connect
import pytest
from clickhouse_connect.driver.client import Client

from collector.errors import ConfigError, StoreError
from collector.store.place import Embedded, Server, place_of
from collector.store.server import SETTLE_S, ServerEngine
from collector.store.store import Store
from tests.paths import PROJECT

COLLECTORS = ("alpha", "beta", "gamma")
BATCHES = 4


def start(*arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", *arguments]
    return subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    server = start("tests.store.inserting_server", str(tmp_path_factory.mktemp("server")))
    assert server.stdout
    yield int(server.stdout.readline())
    server.kill()
    server.wait()
    server.stdout.close()


@pytest.fixture(scope="module")
def written(port: int) -> dict[str, dict[str, object]]:
    """What three collectors that ran at the same time said."""
    url = f"clickhouse://user:pa%3Ass@127.0.0.1:{port}/default"
    first = start("tests.store.collector_process", url, COLLECTORS[0], "0")
    first.communicate(timeout=120)
    running = {name: start("tests.store.collector_process", url, name, str(BATCHES)) for name in COLLECTORS}
    return {
        name: json.loads(process.communicate(timeout=120)[0].splitlines()[-1])
        for name, process in running.items()
    }


@pytest.fixture
def server(port: int, written: dict[str, dict[str, object]]) -> Iterator[Client]:
    with clickhouse_connect.get_client(host="127.0.0.1", port=port) as client:
        yield client


def test_every_span_of_every_collector_is_there(server: Client) -> None:
    """At least once: an insert that took long is stored again, and told apart by trace and span."""
    sql = "SELECT uniqExact(trace_id, span_id), uniqExact(resource_id), count() FROM spans"
    distinct, processes, stored = server.query(sql).result_rows[0]
    assert (distinct, processes) == (len(COLLECTORS) * BATCHES * 9, len(COLLECTORS))
    assert stored % 9 == 0


def test_rows_are_typed_as_the_embedded_store_types_them(server: Client) -> None:
    sql = "SELECT DISTINCT attrs['n'] = toString(toUInt64(toString(span_id))), mapKeys(attrs), events.name FROM spans"
    assert server.query(sql).result_rows == [(True, ["n"], ["first_token"])]
    services = server.query("SELECT groupUniqArray(toString(service)) FROM resources").result_rows[0][0]
    assert set(services) >= set(COLLECTORS)


def test_what_was_kept_out_is_logged_and_the_log_tells_of_every_insert(server: Client) -> None:
    sql = "SELECT count(), sum(spans), sum(bad_trace_id), sum(private_attributes) FROM ingest_log"
    inserts, spans, bad, private = server.query(sql).result_rows[0]
    assert inserts >= len(COLLECTORS) * BATCHES
    assert (spans, bad, private) == (inserts * 10, inserts, inserts * 10)


def test_sequences_rise_above_what_others_used(written: dict[str, dict[str, object]], server: Client) -> None:
    for said in written.values():
        sequences = said["sequences"]
        assert isinstance(sequences, list)
        assert sequences == sorted(set(sequences))
    stored = server.query("SELECT max(ingest_sequence) FROM ingest_log").result_rows[0][0]
    assert stored >= BATCHES


def test_quiet_is_what_nobody_stored_for_not_what_this_process_did_not(server: Client, port: int) -> None:
    reader = ServerEngine(Server("127.0.0.1", port))
    assert 0 <= reader.quiet_s(server, math.inf) < 600
    assert reader.behind_s > SETTLE_S


def test_garbage_is_refused_before_it_is_sent_and_passwords_are_not_shown(
    written: dict[str, dict[str, object]], port: int
) -> None:
    assert {said["garbage"] for said in written.values()} == {"refused"}
    assert {said["place"] for said in written.values()} == {f"clickhouse://127.0.0.1:{port}/default"}


def test_a_collector_killed_at_any_time_leaves_no_half_logged_insert(port: int, server: Client) -> None:
    victim = start("tests.store.collector_process", f"clickhouse://127.0.0.1:{port}/default", "victim", "500")
    sql = "SELECT count() FROM spans WHERE startsWith(toString(trace_id), 'victim')"
    for _ in range(200):
        if server.query(sql).result_rows[0][0] > 30:
            break
    victim.kill()
    victim.communicate()
    logged = server.query(
        "SELECT countIf(n < 9) FROM (SELECT countIf(startsWith(toString(trace_id), 'victim')) AS n FROM ingest_log AS l "
        "LEFT JOIN spans AS s ON l.ingest_sequence = s.ingest_sequence GROUP BY l.ingest_sequence) WHERE n > 0"
    ).result_rows[0][0]
    assert logged == 0


@pytest.mark.parametrize(
    ("target", "place"),
    [
        (":memory:", Embedded(None)),
        ("./data", Embedded(Path("data"))),
        ("clickhouse://h", Server("h", 8123)),
        ("clickhouse://u:p%40@h:1/d?secure=1", Server("h", 1, "d", "u", "p@", True)),
        ("clickhouse+cluster://h/d?cluster=c", Server("h", 8123, "d", cluster="c")),
    ],
)
def test_places(target: str, place: Embedded | Server) -> None:
    assert place_of(target) == place


@pytest.mark.parametrize(
    "target",
    [
        *("postgres://h", "clickhouse://", "clickhouse://h:x", "clickhouse://h?secret=1"),
        *("clickhouse://h?cluster=c", "clickhouse+cluster://h"),
    ],
)
def test_what_is_no_place_is_refused_without_its_password(target: str) -> None:
    with pytest.raises(ConfigError, match=r"^store: ") as refusal:
        place_of(target.replace("://h", "://user:hidden@h"))
    assert "hidden" not in str(refusal.value)


def test_columns_come_whole_over_http(port: int) -> None:
    store = Store.open(f"clickhouse://127.0.0.1:{port}/default")
    asked = (
        "SELECT toUInt32(number) AS n, [n, n] AS pair, toString(number) AS text FROM numbers({count:UInt64})"
    )
    for count in (1, 200_000):
        found = store.columns(asked, {"count": count})
        assert found["n"].tolist() == list(range(count))
        assert found["pair"].shape == (count, 2)
        assert found["text"][-1] == str(count - 1)
    assert not any(map(len, store.columns(asked, {"count": 0}).values()))
    with pytest.raises(StoreError, match="query failed"):
        store.columns("SELECT throwIf(number = 150000) AS n FROM numbers(200000)")
    store.close()
