"""Every endpoint, on real captures: the documented fields and types, and null for what nobody measured."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import httpx
import pytest

from collector.phases import DECODE_PARTS, TTFT_PARTS
from tests.integration.answer_shape import Shapes
from tests.integration.running import ALL, Json, Server
from tests.paths import CAPTURES

RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z")

REQUEST = {
    *(
        "key",
        "request_id",
        "client_request_id",
        "trace_id",
        "model",
        "tenant",
        "route",
        "cohort",
        "started_at",
    ),
    *("outcome", "input_tokens", "output_tokens", "cached_tokens", "attempts", "ttft", "ttft_source"),
    *("ttft_uncertainty", "tpot", "e2e", "prefill_worker", "decode_worker", "met", "cause", "causes"),
    *("complete", "censored", "exposed", "exposed_decode"),
}
CONTRACT = {
    "ObjectiveModel": {
        *(
            "name",
            "selector",
            "ttft",
            "tpot",
            "target",
            "period_days",
            "requests",
            "attainment",
            "budget_left",
        ),
        *("burn_rates", "goodput_rps", "requests_per_gpu_hour", "output_tokens_per_gpu_hour"),
        "network_bytes_per_good_request",
    },
    "AccountingModel": {
        *("total", "evaluated", "met", "missed", "rejected", "errored", "cancelled", "invalid", "incomplete"),
        *("in_flight", "oldest_in_flight_s"),
    },
    "PointModel": {"t", "requests", "met", "missed", "attainment", "goodput_rps", "by_cause"},
    "LatencyModel": {"metric", "unit", "rows"},
    "PercentilesModel": {"key", "count", "p50", "p90", "p95", "p99", "max"},
    "RequestModel": REQUEST,
    "RequestsModel": {"requests", "next_cursor", "total"},
    "RequestDetailModel": REQUEST | {"intervals", "clock_corrections", "joined_by", "verdict"},
    "IntervalModel": {"phase", "worker", "start", "end", "attempt", "source"},
    "VerdictModel": {"cause", "confidence", "evidence", "counterfactual"},
}
"""Fields that the REST contract names, by schema."""


@pytest.fixture(scope="module")
def shapes(captured: Server) -> Shapes:
    return Shapes(captured.get("/openapi.json"))


@pytest.fixture(scope="module")
def requests(captured: Server) -> list[Json]:
    return captured.requests()


def test_the_document_holds_what_the_contract_names(shapes: Shapes) -> None:
    for name, fields in CONTRACT.items():
        assert fields <= shapes.fields(name), name


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/slo", {}),
        ("/slo", {"ttft": 0.5, "tpot": 0.02, "target": 0.9}),
        ("/slo/report", {"ttft": 0.5, "gpus": 4}),
        ("/slo/timeseries", {"step": 86400 * 30}),
        ("/latency", {"metric": "ttft", "by": "model"}),
        ("/latency", {"metric": "prefill_queue", "by": "input_bucket", "raw": "true"}),
        ("/latency", {"metric": "itl"}),
        ("/requests", {"limit": 1000}),
        ("/requests", {"order": "slowest", "missed": "true"}),
        ("/telemetry", {}),
    ],
)
def test_an_answer_is_as_documented(captured: Server, shapes: Shapes, path: str, params: Json) -> None:
    answer = captured.get(path, **ALL, **params)
    assert shapes.faults(answer, shapes.of(f"/api/v1{path}")) == []


def test_every_request_alone_is_as_documented(captured: Server, shapes: Shapes, requests: list[Json]) -> None:
    kinds = {(r["system"], r["outcome"], r["ttft"] is None, r["complete"]): r["key"] for r in requests}
    assert len(kinds) >= 4
    for key in kinds.values():
        found = captured.get(f"/requests/{key}")
        assert shapes.faults(found, shapes.of("/api/v1/requests/{id}")) == []
        for interval in found["intervals"]:
            assert RFC3339.fullmatch(interval["start"])
            assert interval["start"] <= interval["end"]
        assert set(found["phases"]) == {i["phase"] for i in found["intervals"]} - {None}


def test_times_are_rfc_3339_and_windows_take_unix_seconds_too(captured: Server, requests: list[Json]) -> None:
    assert all(RFC3339.fullmatch(request["started_at"]) for request in requests)
    rfc = {"from": "2026-11-29T17:00:00Z", "to": "2026-11-29T18:00:00+00:00"}
    unix = {"from": "1795971600", "to": "1795975200"}
    assert captured.get("/requests", limit=1, **unix)["total"] > 0
    for path in ("/requests", "/slo"):
        assert captured.get(path, **rfc) == captured.get(path, **unix)


def test_what_nobody_measured_is_null(requests: list[Json]) -> None:
    without = [request for request in requests if request["ttft"] is None]
    assert without
    for request in without:
        assert request["ttft_source"] is None
        assert request["ttft_uncertainty"] is None
        assert request["exposed"] is None
        assert request["exposed_decode"] is None
    for request in requests:
        assert request["http_status"] != 0
        assert request["request_id"] != ""
        for name, parts in (("exposed", TTFT_PARTS), ("exposed_decode", DECODE_PARTS)):
            assert request[name] is None or list(request[name]) == list(parts)
        if request["output_tokens"] is None:
            assert request["tpot"] is None


def test_slowest_first_by_cursor_visits_each_request_once(captured: Server, requests: list[Json]) -> None:
    seen: list[Json] = []
    cursor: dict[str, str] = {}
    while True:
        page = captured.get("/requests", order="slowest", limit=37, **ALL, **cursor)
        assert page["total"] == len(requests)
        seen += page["requests"]
        if not page["next_cursor"]:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert Counter(r["key"] for r in seen) == Counter(r["key"] for r in requests)
    assert set(Counter(r["key"] for r in seen).values()) == {1}
    known = [r["ttft"] for r in seen if r["ttft"] is not None]
    assert known == sorted(known, reverse=True)


def test_a_request_is_found_by_each_of_its_ids(captured: Server, requests: list[Json]) -> None:
    often = Counter(r["client_request_id"] for r in requests)
    one = next(r for r in requests if r["request_id"] and often[r["client_request_id"]] == 1)
    for name in ("key", "request_id", "client_request_id", "trace_id"):
        assert one[name]
        assert captured.get(f"/requests/{one[name]}")["key"] == one["key"], name


def test_an_id_that_several_bear_is_answered_with_all_of_them(
    captured: Server, shapes: Shapes, requests: list[Json]
) -> None:
    shared, _ = Counter(r["client_request_id"] for r in requests if r["client_request_id"]).most_common(1)[0]
    answer = httpx.get(f"{captured.api}/api/v1/requests/{shared}")
    assert answer.status_code == 300
    assert shapes.faults(answer.json(), shapes.of("/api/v1/requests/{id}", "300")) == []
    expected = {r["key"] for r in requests if r["client_request_id"] == shared}
    assert len(expected) > 1
    assert {r["key"] for r in answer.json()["requests"]} == expected


@pytest.mark.parametrize(
    ("path", "status", "code", "field"),
    [
        ("/slo?from=yesterday", 400, "bad_time_range", "from"),
        ("/slo?from=2&to=1", 400, "bad_time_range", "from"),
        ("/slo?ttft=nan", 400, "bad_parameter", "ttft"),
        ("/latency?metric=speed", 400, "bad_parameter", "metric"),
        ("/requests?limit=0", 400, "bad_parameter", "limit"),
        ("/requests?cursor=abc", 400, "bad_cursor", "cursor"),
        ("/requests/nonesuch", 404, "not_found", "id"),
        ("/nonesuch", 404, "not_found", None),
    ],
)
def test_errors_have_one_shape(
    captured: Server, shapes: Shapes, path: str, status: int, code: str, field: str | None
) -> None:
    answer = httpx.get(f"{captured.api}/api/v1{path}")
    assert answer.status_code == status
    assert shapes.faults(answer.json(), {"$ref": "#/components/schemas/ErrorBody"}) == []
    assert (answer.json()["error"]["code"], answer.json()["error"]["field"]) == (code, field)


def test_import_health_and_metrics_answer_as_documented(
    captured: Server, shapes: Shapes, tmp_path: Path
) -> None:
    capture = CAPTURES / "dynamo-1.6.1/otel-disabled-jsonl-only/reqtrace.jsonl.gz"
    answer = httpx.post(f"{captured.api}/api/v1/import?name=trace", content=capture.read_bytes())
    assert answer.status_code == 200
    assert shapes.faults(answer.json(), shapes.of("/api/v1/import")) == []
    assert answer.json()["spans"] == 10
    for path in ("/healthz", "/readyz"):
        health = httpx.get(captured.api + path)
        assert shapes.faults(health.json(), shapes.of(path)) == []
        assert health.json()["status"] == "ok"
    captured.settle()
    with gzip.open(capture, "rt") as file:
        records = [json.loads(line)["event"]["request"] for line in file]
    for record in records:
        found = captured.get(f"/requests/{record['request_id']}")
        assert (found["input_tokens"], found["output_tokens"]) == (
            record["input_tokens"],
            record["output_tokens"],
        )
        assert found["e2e"] == pytest.approx(record["total_time_ms"] / 1e3, abs=0.002)
        assert (found["ttft"], found["outcome"], found["phases"]) == (None, None, {})
