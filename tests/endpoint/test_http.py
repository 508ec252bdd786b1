# ruff: noqa: E501
"""The HTTP side: who may ask, what is bounded, how errors look."""

import gzip
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from collector.endpoint.limits import Limits
from collector.errors import ConfigError
from collector.settings import Address, Settings, resolve
from collector.tokens import Grant, Right, digest_of
from tests.endpoint.conftest import MakeEndpoint

ENDLESS = (
    "SELECT count() FROM (SELECT arrayJoin(range(100000)) AS x FROM request_log) AS a, "
    "(SELECT arrayJoin(range(100000)) AS y FROM request_log) AS b WHERE cityHash64(x, y) = 1"
)


@pytest.mark.parametrize(
    ("headers", "params", "status"),
    [
        ({}, {}, 401),
        ({"authorization": "Bearer secret"}, {}, 200),
        ({"authorization": "Bearer wrong"}, {}, 401),
        ({"authorization": "Basic ZGVmYXVsdDpzZWNyZXQ="}, {}, 200),
        ({"authorization": "Basic !!!"}, {}, 401),
        ({"x-clickhouse-user": "default", "x-clickhouse-key": "secret"}, {}, 200),
        ({}, {"user": "default", "password": "secret"}, 200),
        ({}, {"user": "default", "password": "secre"}, 401),
    ],
)
def test_with_a_token_only_those_who_send_it_are_answered(
    headers: dict[str, str], params: dict[str, str], status: int, make_endpoint: MakeEndpoint
) -> None:
    url = make_endpoint(token="secret").url
    answer = httpx.post(url, headers=headers, params=params, content="SELECT 1")
    assert answer.status_code == status
    assert "secret" not in answer.text
    if status == 401:
        assert answer.headers["x-clickhouse-exception-code"] == "516"
    assert httpx.get(f"{url}/ping").text == "Ok.\n"


def test_off_loopback_it_needs_a_token() -> None:
    with pytest.raises(ConfigError, match=r"clickhouse_http would listen on 0\.0\.0\.0:8123.*PDSCOPE_TOKEN"):
        Settings(clickhouse_http=Address("0.0.0.0", 8123)).refuse_open_listeners()
    Settings(clickhouse_http=Address("0.0.0.0", 8123), token="t").refuse_open_listeners()
    assert resolve({"clickhouse_http": "off"}, {}).clickhouse_http is None
    assert resolve({}, {"PDSCOPE_CLICKHOUSE_HTTP": "127.0.0.1:1"}).clickhouse_http == Address("127.0.0.1", 1)


def test_an_address_in_use_is_told_with_what_to_do(make_endpoint: MakeEndpoint) -> None:
    from prometheus_client import CollectorRegistry

    from collector.endpoint import ClickHouseEndpoint
    from collector.tokens import Tokens

    taken = make_endpoint().address
    with pytest.raises(ConfigError, match="--clickhouse-http another HOST:PORT, or off"):
        ClickHouseEndpoint(":memory:", taken, Tokens(), CollectorRegistry())


def test_rows_memory_and_time_are_bounded(make_endpoint: MakeEndpoint) -> None:
    url = make_endpoint(limits=Limits(seconds=1, memory_bytes=64 << 20, result_rows=1000)).url
    rows = httpx.post(url, content="SELECT arrayJoin(range(5000)) FROM request_log")
    assert (rows.status_code, rows.headers["x-clickhouse-exception-code"]) == (413, "396")
    memory = httpx.post(url, content="SELECT length(range(100000000))", timeout=30)
    assert (memory.status_code, memory.headers["x-clickhouse-exception-code"]) == (507, "241")
    began = time.monotonic()
    late = httpx.post(url, content=ENDLESS, timeout=30)
    assert late.headers["x-clickhouse-exception-code"] in ("159",), late.text
    assert time.monotonic() - began < 10


def test_a_client_may_ask_for_less_but_not_for_more(http: httpx.Client) -> None:
    sql = "SELECT arrayJoin(range(5000)) FROM request_log"
    assert http.post("/", params={"max_result_rows": "10"}, content=sql).status_code == 413
    assert http.post("/", params={"max_result_rows": "0"}, content=sql).status_code == 200
    sql = "SELECT arrayJoin(range(300000)) FROM request_log"
    huge = http.post("/", params={"max_result_rows": "9" * 12}, content=sql)
    assert huge.status_code == 413


def test_too_many_at_once_are_told_to_come_back(make_endpoint: MakeEndpoint) -> None:
    url = make_endpoint(limits=Limits(queries=1, wait_seconds=0.05, seconds=2)).url
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(httpx.post, url, content=ENDLESS, timeout=30)
        answer = httpx.post(url, content="SELECT 1")
        while answer.status_code == 200 and not running.done():
            answer = httpx.post(url, content="SELECT 1")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert httpx.post(url, content="SELECT 1").text == "1\n"


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("JSON", b"{"), ("JSONCompact", b"{"), ("JSONEachRow", b'{"key"'), ("TabSeparatedWithNames", b"key\n"),
        ("CSV", b'"'), ("ArrowStream", b"\xff\xff\xff\xff"), ("Arrow", b"ARROW1"), ("Parquet", b"PAR1"),
        ("RowBinaryWithNamesAndTypes", b"\x01\x03key\x06String"), ("Native", b"\x01\x05\x03key"),
        ("Pretty", b" "), ("Null", b""),
    ],
)  # fmt: skip
def test_formats_by_statement_by_header_and_by_default(name: str, start: bytes, http: httpx.Client) -> None:
    sql = "SELECT key FROM request_log"
    by_statement = http.post("/", content=f"{sql} FORMAT {name}")
    by_header = http.post("/", content=sql, headers={"x-clickhouse-format": name})
    by_default = http.post("/", content=sql, params={"default_format": name})
    for answer in (by_statement, by_header, by_default):
        assert answer.status_code == 200
        assert answer.content.startswith(start)
        assert answer.headers["x-clickhouse-format"] == name


def test_bodies_may_be_compressed_and_must_be_what_they_say(http: httpx.Client) -> None:
    zipped = http.post("/", content=gzip.compress(b"SELECT 5"), headers={"content-encoding": "gzip"})
    assert zipped.text == "5\n"
    for content, encoding in ((b"SELECT 5", "gzip"), (gzip.compress(b" " * (2 << 20)), "gzip"), (b"x", "br")):
        answer = http.post("/", content=content, headers={"content-encoding": encoding})
        assert answer.status_code == 400
    assert http.post("/", content=b" " * (2 << 20)).status_code == 400
    assert http.post("/", content=b"SELECT '" + b"x" * 300_000 + b"'").status_code == 403
    assert http.post("/", params={"compress": "1"}, content="SELECT 1").status_code == 400
    assert http.put("/", content="SELECT 1").status_code == 400
    assert http.get("/play", params={"query": "SELECT 1"}).status_code == 400


def test_headers_say_what_the_query_cost(http: httpx.Client) -> None:
    answer = http.get("/", params={"query": "SELECT count() FROM request_log", "query_id": "mine\r\nx: y"})
    assert answer.headers["x-clickhouse-query-id"] == "minex: y"
    assert '"read_rows": "' in answer.headers["x-clickhouse-summary"]


def test_a_client_that_never_finishes_its_request_does_not_stop_others(http: httpx.Client) -> None:
    with socket.create_connection((http.base_url.host, http.base_url.port or 0)) as slow:
        slow.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nSEL")
        assert http.post("/", content="SELECT 1").text == "1\n"


def test_a_tenants_token_does_not_read_what_sees_every_tenant(make_endpoint: MakeEndpoint) -> None:
    grants = (
        Grant(digest_of(b"acme"), Right.READ, "acme"),
        Grant(digest_of(b"sender"), Right.INGEST),
        Grant(digest_of(b"grafana"), Right.READ),
    )
    url = make_endpoint(grants=grants).url
    for token, status in (("acme", 401), ("sender", 401), ("", 401), ("grafana", 200)):
        answer = httpx.post(
            url, content="SELECT count() FROM request_log", headers={"x-clickhouse-key": token}
        )
        assert answer.status_code == status, answer.text
