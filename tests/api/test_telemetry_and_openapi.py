"""What was received, and the document that clients are made from."""

import httpx

from collector.store.store import Store
from tests.api.rows import a_request, insert

CONTRACT = ("slo", "slo/timeseries", "latency", "requests", "requests/{id}", "import", "telemetry")


def test_telemetry_counts_what_came_in_and_what_became_of_it(store: Store, client: httpx.Client) -> None:
    columns = ["ingest_sequence", "spans", "bad_trace_id", "bad_start", "private_attributes"]
    store.insert("ingest_log", [[1, 10, 1, 0, 4], [2, 20, 0, 2, 0]], columns)
    store.insert(
        "resources", [[1, "vllm", "w0", "", {}]], ["resource_id", "service", "instance", "pool", "attrs"]
    )
    insert(store, [a_request(1, version=2, late_spans=3), a_request(2, outcome="", duplicate_spans=1)])
    body = client.get("/api/v1/telemetry").json()
    ingest = body["ingest"]
    assert (ingest["exports"], ingest["spans_received"], ingest["spans_stored"]) == (2, 30, 0)
    assert ingest["spans_refused"] == {"bad_trace_id": 1, "bad_span_id": 0, "bad_start": 2, "bad_end": 0}
    assert ingest["dropped"]["private_attributes"] == 4
    assert body["sequences"] == {"stored": 2, "assembled": 2}
    assert body["systems"] == [
        {
            "system": "pd",
            "requests": 2,
            "without_outcome": 1,
            "without_ttft": 0,
            "with_late_spans": 1,
            "late_spans": 3,
            "duplicate_spans": 1,
        }
    ]
    assert (body["workers"][0]["instance"], body["workers"][0]["pool"]) == ("w0", None)
    assert body["store_bytes"] == sum(table["bytes"] for table in body["store"]) > 0


def test_telemetry_names_the_spans_that_no_rule_knows(store: Store, client: httpx.Client) -> None:
    store.insert(
        "span_rules", [["name:known", ""], ["prefix:route ", "route "], ["scope:s:2", ""]], ["key", "prefix"]
    )
    spans = [("known", "", 1), ("route 7", "", 1), ("any", "s", 2), ("any", "s", 3), ("new", "", 1)]
    spans += [("new", "", 1)]
    store.insert(
        "spans",
        [
            [number, b"t" * 16, b"s" * 8, scope, name, kind, 10**18]
            for number, (name, scope, kind) in enumerate(spans)
        ],
        ["ingest_sequence", "trace_id", "span_id", "scope", "name", "kind", "start_ns"],
    )
    assert client.get("/api/v1/telemetry").json()["unread"] == [
        {"scope": None, "name": "new", "spans": 2},
        {"scope": "s", "name": "any", "spans": 1},
    ]
    store.command("TRUNCATE TABLE spans")
    store.command("TRUNCATE TABLE span_rules")


def test_an_empty_store_answers(client: httpx.Client) -> None:
    body = client.get("/api/v1/telemetry").json()
    assert (body["ingest"]["spans_received"], body["ingest"]["newest_at"], body["systems"]) == (0, None, [])


def test_the_openapi_document_describes_every_call(client: httpx.Client) -> None:
    document = client.get("/api/v1/openapi.json").json()
    for name in CONTRACT:
        for operation in document["paths"][f"/api/v1/{name}"].values():
            assert operation["summary"], name
            assert operation["description"], name
            assert "400" in operation["responses"], name
            for parameter in operation.get("parameters", []):
                assert parameter.get("description") or parameter["name"] in ("limit",), (
                    name,
                    parameter["name"],
                )
    for name in ("healthz", "readyz", "metrics"):
        assert f"/{name}" in document["paths"]
    for name, model in document["components"]["schemas"].items():
        if not name.startswith(("HTTPValidation", "Validation")):
            assert model.get("description"), name
