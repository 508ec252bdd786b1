# ruff: noqa: E501
"""Statements that must read nothing: each is refused before it runs, with an error that says why."""

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.endpoint.conftest import CANARY

READS_ELSEWHERE = [
    "SELECT * FROM file('{file}', 'LineAsString')",
    "SELECT file('{file}')",
    "SELECT FILE('{file}')",
    "SELECT `file`('{file}')",
    "SELECT * FROM `file`('{file}', 'LineAsString')",
    "WITH '{file}' AS path SELECT file(path)",
    "SELECT arrayMap(x -> file(x), ['{file}'])",
    "SELECT count() FROM request_log WHERE file('{file}') != ''",
    "SELECT 1 ORDER BY file('{file}')",
    "SELECT 1 LIMIT length(file('{file}'))",
    "SELECT sum(1) OVER (ORDER BY file('{file}'))",
    "SELECT * FROM fileCluster('c', '{file}', 'LineAsString')",
    "SELECT * FROM url('http://127.0.0.1:{port}/', 'LineAsString')",
    "SELECT * FROM urlCluster('c', 'http://127.0.0.1:{port}/', 'LineAsString')",
    "SELECT * FROM remote('127.0.0.1:{port}', 'default', 'spans')",
    "SELECT * FROM remoteSecure('127.0.0.1:{port}', 'default', 'spans')",
    "SELECT * FROM cluster('default', 'default', 'spans')",
    "SELECT * FROM clusterAllReplicas('default', 'default', 'spans')",
    "SELECT * FROM s3('http://127.0.0.1:{port}/b/k', 'LineAsString')",
    "SELECT * FROM s3Cluster('c', 'http://127.0.0.1:{port}/b/k', 'LineAsString')",
    "SELECT * FROM gcs('http://127.0.0.1:{port}/b/k')",
    "SELECT * FROM azureBlobStorage('http://127.0.0.1:{port}/', 'c', 'k')",
    "SELECT * FROM hdfs('hdfs://127.0.0.1:{port}/x', 'TSV', 'a Int')",
    "SELECT * FROM mysql('127.0.0.1:{port}', 'd', 't', 'u', 'p')",
    "SELECT * FROM postgresql('127.0.0.1:{port}', 'd', 't', 'u', 'p')",
    "SELECT * FROM mongodb('127.0.0.1:{port}', 'd', 't', 'u', 'p', 'a Int')",
    "SELECT * FROM redis('127.0.0.1:{port}', 'k', 'k String')",
    "SELECT * FROM sqlite('{file}', 't')",
    "SELECT * FROM iceberg('http://127.0.0.1:{port}/b/k')",
    "SELECT * FROM deltaLake('http://127.0.0.1:{port}/b/k')",
    "SELECT * FROM hudi('http://127.0.0.1:{port}/b/k')",
    "SELECT * FROM executable('cat', 'LineAsString', 'a String')",
    "SELECT * FROM input('a Int')",
    "SELECT * FROM Python(x)",
    "SELECT hasColumnInTable('127.0.0.1:{port}', 'u', 'p', 'default', 'spans', 'name')",
]

READS_UNPUBLISHED = [
    "SELECT * FROM spans",
    "SELECT * FROM default.spans",
    'SELECT * FROM "default"."spans"',
    "SELECT * FROM `spans`",
    "FROM spans SELECT *",
    "SELECT * FROM private_attributes",
    "SELECT '{canary}' IN private_attributes",
    "SELECT '{canary}' NOT IN (private_attributes)",
    "SELECT in('{canary}', private_attributes)",
    "SELECT globalIn('{canary}', default.private_attributes)",
    "SELECT * FROM request_log, spans",
    "SELECT * FROM request_log CROSS JOIN spans",
    "SELECT * FROM request_log AS spans2 LEFT JOIN spans ON 1",
    "SELECT * FROM request_log WHERE key IN (SELECT name FROM spans)",
    "SELECT (SELECT count() FROM spans)",
    "SELECT EXISTS(SELECT 1 FROM spans)",
    "SELECT * FROM (SELECT * FROM (SELECT * FROM spans))",
    "WITH x AS (SELECT * FROM spans) SELECT * FROM x",
    "WITH spans AS (SELECT 1 AS name) SELECT (SELECT count() FROM default.spans)",
    "WITH RECURSIVE t AS (SELECT name FROM spans UNION ALL SELECT name FROM t) SELECT * FROM t",
    "SELECT key FROM request_log UNION ALL SELECT name FROM spans",
    "(SELECT key FROM request_log) EXCEPT (SELECT name FROM spans)",
    "SELECT key FROM request_log INTERSECT SELECT name FROM spans",
    "SELECT 1 /* request_log */ FROM /**/ spans -- request_log",
    "SELECT 1 FROM request_log AS `x, table_name: default.request_log` JOIN spans USING name",
    "SELECT * FROM view(SELECT * FROM spans)",
    "SELECT * FROM viewIfPermitted(SELECT * FROM spans ELSE null('a Int'))",
    "SELECT * FROM merge('default', '.*')",
    "SELECT * FROM merge(REGEXP('default'), '.*')",
    "SELECT * FROM loop(spans)",
    "SELECT * FROM mergeTreeIndex('default', 'spans')",
    "SELECT * FROM dictionary('spans')",
    "SELECT * FROM otlp_spans",
    "SELECT * FROM requests FINAL",
    "SELECT dictGet('default.d', 'a', 1)",
    "SELECT joinGet('default.spans', 'name', 1)",
    "SELECT * FROM system.tables",
    "SELECT * FROM system.processes",
    "SELECT * FROM system.query_log",
    "SELECT * FROM system.`functions`",
    "SELECT * FROM INFORMATION_SCHEMA.TABLES",
    "SELECT * FROM information_schema.columns",
    "DESCRIBE TABLE spans",
    "DESCRIBE (SELECT * FROM spans)",
    "DESCRIBE TABLE file('{file}')",
    "SHOW CREATE TABLE request_log",
    "SHOW TABLES FROM system",
    "SHOW COLUMNS FROM spans",
    "EXISTS TABLE spans",
    "SELECT * FROM numbers(10)",
    "SELECT * FROM zeros(10)",
    "SELECT * FROM generateRandom('a Int')",
    "SELECT * FROM values('a Int', 1)",
    "SELECT * FROM generateSeries(1, 2)",
    "SELECT * APPLY(toString) FROM request_log",
]

WRITES_OR_CHANGES = [
    "INSERT INTO spans (name) VALUES ('x')",
    "INSERT INTO FUNCTION file('{file}.out', 'TSV') SELECT 1",
    "INSERT INTO private_attributes SELECT 'x'",
    "SELECT 1 INTO OUTFILE '{file}.out'",
    "SELECT 1 INTO OUTFILE '{file}.out' TRUNCATE FORMAT TSV",
    "CREATE TABLE t (a Int) ENGINE = Memory",
    "CREATE TEMPORARY TABLE t (a Int)",
    "CREATE VIEW request_log2 AS SELECT * FROM spans",
    "CREATE FUNCTION f AS (x) -> file(x)",
    "CREATE DICTIONARY d (a Int) PRIMARY KEY a SOURCE(FILE(path '{file}' format 'TSV')) LIFETIME(0) LAYOUT(FLAT())",
    "ALTER TABLE spans DELETE WHERE 1",
    "DROP TABLE spans",
    "DROP VIEW request_log",
    "TRUNCATE TABLE spans",
    "RENAME TABLE spans TO s",
    "OPTIMIZE TABLE spans FINAL",
    "DETACH TABLE spans",
    "ATTACH TABLE s2 FROM '/tmp' (a Int) ENGINE = MergeTree ORDER BY a",
    "SYSTEM SHUTDOWN",
    "KILL QUERY WHERE 1",
    "SET readonly = 0",
    "USE system",
    "GRANT ALL ON *.* TO default",
    "BACKUP TABLE spans TO File('{file}.out')",
    "SELECT * FROM request_log SETTINGS readonly = 0",
    "SELECT * FROM (SELECT 1 SETTINGS max_execution_time = 0)",
    "SELECT 1 FORMAT TSV SETTINGS max_memory_usage = 0",
    "SELECT 1; DROP TABLE spans",
    "SELECT 1;; SELECT * FROM spans",
    "SELECT 1 FORMAT TSV\n;SELECT * FROM spans",
    "EXPLAIN SELECT * FROM spans",
    "EXPLAIN AST SELECT 1",
    "EXPLAIN ESTIMATE SELECT * FROM spans",
    "BEGIN TRANSACTION",
    "EXECUTE AS default SELECT 1",
]

TELLS_OR_STALLS = [
    "SELECT sleep(3)",
    "SELECT sleepEachRow(1) FROM request_log",
    "SELECT throwIf(1)",
    "SELECT getSetting('max_memory_usage')",
    "SELECT getServerSetting('max_connections')",
    "SELECT getMacro('x')",
    "SELECT hostName(), FQDN()",
    "SELECT currentUser()",
    "SELECT @@version",
    "SELECT serverUUID()",
    "SELECT getClientHTTPHeader('Authorization')",
    "SELECT showCertificate()",
    "SELECT addressToLine(1)",
    "SELECT catboostEvaluate('{file}', 1)",
    "SELECT evalMLMethod(1, 2)",
    "SELECT structureToProtobufSchema('a Int')",
    "SELECT aiGenerate('x', 'y')",
    "SELECT formatQuery('SELECT 1')",
    "SELECT formatRow('Protobuf', 1)",
    "SELECT tokenizeQuery('x')",
    "SELECT finalizeAggregation(CAST(unhex('00'), 'AggregateFunction(sum, UInt64)'))",
    "SELECT sumMerge(x) FROM (SELECT unhex('00')::AggregateFunction(sum, UInt64) AS x)",
    "SELECT logTrace('x')",
    "SELECT regionToName(1)",
    "SELECT 1 FORMAT Protobuf",
    "SELECT 1 FORMAT CapnProto",
    "SELECT 1 FORMAT Template",
    "SELECT 1 FORMAT SQLInsert",
    "SELECT 'a\0b'",
    "SELECT 1 AS `a\nb`, count() FROM `spans\n  Literal 1`",
]

ALL = [
    pytest.param(sql, id=sql[:60])
    for sql in (*READS_ELSEWHERE, *READS_UNPUBLISHED, *WRITES_OR_CHANGES, *TELLS_OR_STALLS)
]


@pytest.fixture(scope="module")
def trap() -> Iterator[socket.socket]:
    """A listening socket nobody must connect to."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


@pytest.mark.parametrize("sql", ALL)
def test_it_is_refused_and_reads_nothing(
    sql: str, http: httpx.Client, tmp_path: Path, trap: socket.socket
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(CANARY)
    port = trap.getsockname()[1]
    text = sql.replace("{file}", str(secret)).replace("{port}", str(port)).replace("{canary}", CANARY)
    answer = http.post("/", content=text.encode())
    assert answer.status_code in (400, 403, 404), answer.text
    assert answer.text.startswith("Code: ")
    assert answer.headers["x-clickhouse-exception-code"] != "0"
    assert CANARY not in answer.text.replace(text, "")
    assert not Path(f"{secret}.out").exists()
    with pytest.raises(BlockingIOError):
        trap.accept()


def test_the_reason_names_what_is_not_allowed(http: httpx.Client) -> None:
    for sql, words in {
        "SELECT * FROM spans": "spans is not published here; read one of causes_by_minute",
        "SELECT file('x')": "the function file is not allowed here",
        "SELECT * FROM url('x')": "the table function url is not allowed here",
        "SELECT 1 SETTINGS max_threads = 1": "SETTINGS is not taken here",
        "SELECT 1 INTO OUTFILE 'x'": "INTO OUTFILE is not taken here",
        "SELECT 1; SELECT 2": "one statement at a time",
        "DROP TABLE spans": "only a single SELECT is answered here",
        "SELECT 1 FORMAT Avro": "format Avro is not answered here",
    }.items():
        assert words in http.post("/", content=sql).text


@pytest.mark.parametrize(
    ("params", "sql"),
    [
        ({"param_t": "spans"}, "SELECT * FROM {t:Identifier}"),
        ({"param_d": "system", "param_t": "tables"}, "SELECT * FROM {d:Identifier}.{t:Identifier}"),
        ({"param_t": "x; DROP TABLE spans"}, "SELECT {t:Identifier}"),
        ({"readonly": "0", "allow_ddl": "1"}, "SELECT 1"),
        ({"format_schema": "x"}, "SELECT 1"),
        ({"max_execution_time": "1'; DROP TABLE spans"}, "SELECT 1"),
        ({"session_timezone": "UTC', readonly = '0"}, "SELECT 1"),
        ({"default_format": "SQLInsert"}, "SELECT 1"),
        ({"user_files_path": "/"}, "SELECT 1"),
        ({"database": "system"}, "SELECT * FROM tables"),
        ({"query": "SELECT * FROM request_log", "param_x": "1"}, "UNION ALL SELECT * FROM spans"),
        ({"query": "INSERT INTO spans (name) VALUES"}, "('x')"),
    ],
)
def test_parameters_and_settings_open_nothing(params: dict[str, str], sql: str, http: httpx.Client) -> None:
    answer = http.post("/", params=params, content=sql)
    assert answer.status_code in (400, 403, 404), answer.text


@pytest.mark.parametrize(
    "value", ["x' OR 1=1 --", "\\'; DROP TABLE spans", "\\N", "{t:Identifier}", "a\\nb", "é\\t"]
)
def test_a_parameter_is_a_value_whatever_it_holds(value: str, http: httpx.Client) -> None:
    sql = "SELECT toTypeName({v:String}), count() FROM (SELECT 1)"
    answer = http.post("/", params={"param_v": value, "query": sql})
    assert answer.text == "String\t1\n" or answer.status_code == 400


@pytest.mark.parametrize("body", [b"\xff\xfe\x00S", "SELECT 1".encode("utf-16"), b"SELECT '\xff'", b"\x00"])
def test_other_encodings_are_refused(body: bytes, http: httpx.Client) -> None:
    assert http.post("/", content=body).status_code in (400, 403)
