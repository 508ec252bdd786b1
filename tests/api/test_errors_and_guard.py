"""One error shape, and who may ask how much."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from analyzer.api.services import Readiness
from collector.errors import BadBody, StoreError
from collector.receive.formats import FileReport
from collector.settings import Settings
from collector.store.store import Store
from tests.api.conftest import MakeClient


@pytest.mark.parametrize(
    ("path", "status", "code", "field"),
    [
        ("/api/v1/slo?from=yesterday", 400, "bad_time_range", "from"),
        ("/api/v1/slo?from=2026-13-01T00:00:00Z", 400, "bad_time_range", "from"),
        ("/api/v1/slo?to=99999999999", 400, "bad_time_range", "to"),
        ("/api/v1/slo?to=nan", 400, "bad_time_range", "to"),
        ("/api/v1/slo?from=200&to=100", 400, "bad_time_range", "from"),
        ("/api/v1/slo?from=2099-01-01T00:00:00Z", 400, "bad_time_range", "from"),
        ("/api/v1/slo?ttft=-1", 400, "bad_parameter", "ttft"),
        ("/api/v1/slo?tpot=inf", 400, "bad_parameter", "tpot"),
        ("/api/v1/slo?target=1", 400, "bad_parameter", "target"),
        ("/api/v1/slo?ttft=fast", 400, "bad_parameter", "ttft"),
        ("/api/v1/slo?pool=swimming", 400, "bad_parameter", "pool"),
        ("/api/v1/slo?model=%00", 400, "bad_parameter", "model"),
        ("/api/v1/slo?tenant=" + "x" * 600, 400, "bad_parameter", "tenant"),
        ("/api/v1/slo/timeseries?step=0", 400, "bad_parameter", "step"),
        ("/api/v1/slo/timeseries?from=0&to=1000000&step=1", 400, "bad_parameter", "step"),
        ("/api/v1/latency?metric=speed", 400, "bad_parameter", "metric"),
        ("/api/v1/latency?by=colour", 400, "bad_parameter", "by"),
        ("/api/v1/latency?metric=retry&raw=true", 400, "bad_parameter", "raw"),
        ("/api/v1/requests?limit=1001", 400, "bad_parameter", "limit"),
        ("/api/v1/requests?order=oldest", 400, "bad_parameter", "order"),
        ("/api/v1/requests?cause=gremlins", 400, "bad_parameter", "cause"),
        ("/api/v1/requests?outcome=fine", 400, "bad_parameter", "outcome"),
        ("/api/v1/requests/%00", 400, "bad_parameter", "id"),
        ("/api/v1/requests/", 400, "bad_parameter", "id"),
        ("/api/v1/nonesuch", 404, "not_found", None),
        ("/nonesuch", 404, "not_found", None),
    ],
)
def test_a_wrong_question_is_refused_with_its_field(
    client: httpx.Client, path: str, status: int, code: str, field: str | None
) -> None:
    answer = client.get(path)
    error = answer.json()["error"]
    assert set(answer.json()) == {"error"}
    assert (answer.status_code, error["code"], error["field"]) == (status, code, field)
    assert error["message"]


def test_another_method_is_refused_in_the_same_shape(client: httpx.Client) -> None:
    answer = client.delete("/api/v1/slo")
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")


def test_with_a_token_only_its_bearer_may_ask(make_client: MakeClient) -> None:
    client = make_client(settings=Settings(token="secret"))
    for path in ("/api/v1/slo", "/metrics", "/api/v1/openapi.json", "/nonesuch", "/HEALTHZ", "/healthz/x"):
        for headers in (
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": "secret"},
            {"authorization": "Basic secret"},
        ):
            answer = client.get(path, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "secret" not in answer.text
    assert client.get("/api/v1/slo", headers={"authorization": "bearer secret"}).status_code == 200
    assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200


def test_liveness_and_readiness(make_client: MakeClient) -> None:
    client = make_client(readiness=Readiness(False, ("the store does not answer",)))
    assert client.get("/healthz").json()["status"] == "ok"
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"status": "not ready", "reasons": ["the store does not answer"]}


def test_a_store_that_fails_is_said_without_its_words(
    store: Store, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> list[dict[str, object]]:
        raise StoreError("query failed: SELECT secret FROM disk")

    client = make_client()
    monkeypatch.setattr(store, "rows", broken)
    answer = client.get("/api/v1/slo")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_unavailable")
    assert "SELECT" not in answer.text
    assert answer.headers["retry-after"]


def test_metrics_count_calls_by_route_and_tell_the_stores_size(client: httpx.Client) -> None:
    client.get("/api/v1/requests/some-id")
    text = client.get("/metrics").text
    assert 'pdscope_api_requests_total{method="GET",route="/requests/{id}",status="404"} 1.0' in text
    assert 'pdscope_store_bytes{table="schema_migrations"}' in text
    assert "some-id" not in text


class Recorder:
    """An importer that notes what it was given."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, bytes]] = []

    def import_file(self, path: Path, name: str) -> FileReport:
        self.seen.append((name, path.read_bytes()))
        if path.read_bytes() == b"garbage":
            raise BadBody(f"{name}: not a format pdscope reads")
        report = FileReport(name, "OTLP protobuf", bodies=1, spans=3)
        report.refused["bad_start"] = 2
        return report


def test_an_import_is_streamed_whole_and_reported(make_client: MakeClient) -> None:
    recorder = Recorder()
    client = make_client(importer=recorder)

    def chunks() -> Iterator[bytes]:
        for _ in range(300):
            yield b"x" * 10_000

    answer = client.post("/api/v1/import?name=a.pb", content=chunks())
    assert answer.json() == {
        "name": "a.pb",
        "format": "OTLP protobuf",
        "exports": 1,
        "spans": 3,
        "refused": {"bad_start": 2},
        "skipped": {},
        "examples": [],
    }
    assert recorder.seen == [("a.pb", b"x" * 3_000_000)]


@pytest.mark.parametrize("declared", [True, False])
def test_an_import_over_the_limit_is_refused(make_client: MakeClient, declared: bool) -> None:
    recorder = Recorder()
    client = make_client(importer=recorder, settings=Settings(import_max_bytes=1000))
    content = b"x" * 1001 if declared else (b"x" * 400 for _ in range(3))
    answer = client.post("/api/v1/import", content=content)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")
    assert recorder.seen == []


@pytest.mark.parametrize(("content", "code"), [(b"", "bad_body"), (b"garbage", "bad_body")])
def test_a_bad_import_is_refused(make_client: MakeClient, content: bytes, code: str) -> None:
    answer = make_client(importer=Recorder()).post("/api/v1/import", content=content)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


def test_the_limit_of_other_calls_is_their_own(make_client: MakeClient) -> None:
    client = make_client(settings=Settings(body_max_bytes=100))
    answer = client.request("GET", "/api/v1/slo", content=b"x" * 101)
    assert answer.status_code == 413


def test_without_an_importer_imports_wait(client: httpx.Client) -> None:
    answer = client.post("/api/v1/import", content=b"x")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
