# ruff: noqa: E501
"""Clients people have, unchanged: clickhouse-connect over HTTP, curl, and npm's @clickhouse/client."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import clickhouse_connect
import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from collector.endpoint import ClickHouseEndpoint
from tests.endpoint.conftest import trace_id

NPM_PACKAGE = "@clickhouse/client@1.12.1"


@pytest.fixture
def client(endpoint: ClickHouseEndpoint) -> Iterator[Client]:
    connected = clickhouse_connect.get_client(host="127.0.0.1", port=endpoint.address.port)
    yield connected
    connected.close()


def test_clickhouse_connect_reads_typed_rows(client: Client) -> None:
    result = client.query(
        "SELECT request_id, ttft_seconds, exposed_seconds['unattributed'] FROM request_log "
        "WHERE ttft_seconds > {least:Float64} ORDER BY ttft_seconds",
        parameters={"least": 2.0},
    )
    assert result.result_rows == [("r2", 2.5, 2.5), ("r3", 3.5, 3.5), ("r4", 4.5, 4.5)]


def test_clickhouse_connect_binds_text_and_arrays(client: Client) -> None:
    odd = "it's a \\ 'name'\n\tof a model; --"
    row = client.query(
        "SELECT {text:String}, {list:Array(String)}", parameters={"text": odd, "list": [odd, "b"]}
    ).result_rows[0]
    assert row == (odd, [odd, "b"])


def test_clickhouse_connect_takes_settings_arrow_and_streams(client: Client) -> None:
    table = client.query_arrow("SELECT key, e2e_seconds FROM request_log", settings={"max_threads": 1})
    assert table.num_rows == 5
    with client.query_row_block_stream("SELECT request_id FROM request_log ORDER BY request_id") as stream:
        assert [row[0] for block in stream for row in block] == [f"r{n}" for n in range(5)]
    assert client.command("SELECT count() FROM request_log") == 5
    assert client.raw_query("SELECT 1 AS one", fmt="JSONEachRow") == b'{"one":1}\n'


def test_clickhouse_connect_hears_why_a_statement_is_refused(
    client: Client, endpoint: ClickHouseEndpoint
) -> None:
    with pytest.raises(DatabaseError, match="spans is not published here"):
        client.query("SELECT * FROM spans")
    plain = clickhouse_connect.get_client(host="127.0.0.1", port=endpoint.address.port, compress=False)
    with plain, pytest.raises(DatabaseError, match=r"INSERT|single SELECT"):
        plain.insert("spans", [["x"]], column_names=["name"], column_type_names=["String"])


def test_a_trace_reads_as_opentelemetry_names_it(client: Client) -> None:
    # The two queries of Grafana's trace panel.
    sql = """WITH {id:String} AS trace_id,
        (SELECT min(Start) FROM otel_traces_trace_id_ts WHERE TraceId = trace_id) AS trace_start,
        (SELECT max(End) + 1 FROM otel_traces_trace_id_ts WHERE TraceId = trace_id) AS trace_end
        SELECT "TraceId" AS traceID, "SpanId" AS spanID, "ParentSpanId" AS parentSpanID,
            "ServiceName" AS serviceName, "SpanName" AS operationName,
            multiply(toUnixTimestamp64Nano("Timestamp"), 0.000001) AS startTime,
            multiply("Duration", 0.000001) AS duration,
            arrayMap(key -> map('key', key, 'value', "SpanAttributes"[key]), mapKeys("SpanAttributes")) AS tags,
            arrayMap(key -> map('key', key, 'value', "ResourceAttributes"[key]),
                mapKeys("ResourceAttributes")) AS serviceTags,
            if("StatusCode" IN ('Error', 'STATUS_CODE_ERROR'), 2, 0) AS statusCode
        FROM "default"."otel_traces"
        WHERE traceID = trace_id AND "Timestamp" >= trace_start AND "Timestamp" <= trace_end
        LIMIT 1000"""
    rows = client.query(sql, parameters={"id": trace_id(1).hex()}).named_results()
    spans = {row["operationName"]: row for row in rows}
    assert set(spans) == {"pd.request", "pd.decode"}
    assert spans["pd.request"]["duration"] == 1500
    assert spans["pd.request"]["statusCode"] == 2
    assert spans["pd.request"]["tags"] == [{"key": "pd.phase", "value": "decode"}]
    assert spans["pd.decode"]["parentSpanID"] == spans["pd.request"]["spanID"]
    assert spans["pd.decode"]["serviceName"] == "router"


def test_otel_traces_has_the_exporters_columns_and_types(client: Client) -> None:
    text = "LowCardinality(String)"
    kept = f"Map({text}, String)"
    described = {row[0]: row[1] for row in client.query("DESCRIBE TABLE otel_traces").result_rows}
    assert described == {
        "Timestamp": "DateTime64(9, 'UTC')", "TraceId": "String", "SpanId": "String", "ParentSpanId": "String",
        "TraceState": "String", "SpanName": text, "SpanKind": text, "ServiceName": text,
        "ResourceAttributes": kept, "ScopeName": "String", "ScopeVersion": "String", "SpanAttributes": kept,
        "Duration": "UInt64", "StatusCode": text, "StatusMessage": "String",
        "Events.Timestamp": "Array(DateTime64(9, 'UTC'))", "Events.Name": f"Array({text})",
        "Events.Attributes": f"Array({kept})", "Links.TraceId": "Array(String)",
        "Links.SpanId": "Array(String)", "Links.TraceState": "Array(String)",
        "Links.Attributes": f"Array({kept})",
    }  # fmt: skip


def curl(*arguments: str) -> str:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    done = subprocess.run(["curl", "-sS", *arguments], capture_output=True, text=True, timeout=30, check=True)
    return done.stdout


def test_curl_asks_in_the_url_and_in_the_body(endpoint: ClickHouseEndpoint) -> None:
    url = endpoint.url
    assert curl(f"{url}/ping") == "Ok.\n"
    assert curl(url) == "Ok.\n"
    assert curl("-G", url, "--data-urlencode", "query=SELECT count() FROM request_log") == "5\n"
    assert curl(url, "-d", "SELECT 1 AS a FORMAT CSVWithNames") == '"a"\n1\n'
    assert curl(f"{url}/?param_n=3", "-F", "query=SELECT {n:UInt8} + 1") == "4\n"
    answer = curl("--compressed", f"{url}/?default_format=JSON", "-d", "SELECT key FROM request_log")
    assert json.loads(answer)["rows"] == 5


SCRIPT = """
const { createClient } = require('@clickhouse/client')
const client = createClient({ url: process.argv[2] })
async function main() {
  const ping = await client.ping()
  const asked = {
    query: 'SELECT request_id, ttft_seconds FROM request_log WHERE ttft_seconds > {least: Float64} ORDER BY request_id',
    query_params: { least: 3 }, format: 'JSONEachRow',
  }
  const rows = await (await client.query(asked)).json()
  let refused = ''
  try { await client.query({ query: 'SELECT * FROM spans' }) } catch (error) { refused = error.message }
  let streamed = 0
  const stream = (await client.query({ query: 'SELECT key FROM request_log', format: 'JSONCompactEachRow' })).stream()
  for await (const some of stream) streamed += some.length
  await client.close()
  console.log(JSON.stringify({ ping: ping.success, rows, refused, streamed }))
}
main()
"""


@pytest.fixture(scope="session")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("npm") or not shutil.which("node"):
        pytest.skip("node and npm are not installed")
    place = tmp_path_factory.mktemp("npm")
    command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(place), NPM_PACKAGE]
    try:
        subprocess.run(command, capture_output=True, timeout=90, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip(f"npm could not install {NPM_PACKAGE}")
    return place


def test_the_node_client_reads_pings_and_streams(endpoint: ClickHouseEndpoint, node_modules: Path) -> None:
    script = node_modules / "ask.js"
    script.write_text(SCRIPT)
    done = subprocess.run(
        ["node", str(script), endpoint.url], capture_output=True, text=True, timeout=60, check=True
    )
    answer = json.loads(done.stdout)
    assert answer["ping"] is True
    assert answer["rows"] == [
        {"request_id": "r3", "ttft_seconds": 3.5},
        {"request_id": "r4", "ttft_seconds": 4.5},
    ]
    assert "spans is not published here" in answer["refused"]
    assert answer["streamed"] == 5
