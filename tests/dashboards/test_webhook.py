"""The webhook: what it takes, what it says, and that an alert gets through whatever happens."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from analyzer.cli.errors import CommandError
from collector.errors import ConfigError
from dashboards.webhook.diagnosis import Why, diagnose
from dashboards.webhook.message import MAX_ALERTS, escaped, message
from dashboards.webhook.server import WebhookServer

STARTED = datetime(2026, 3, 2, 12, tzinfo=UTC)


def an_alert(**given: Any) -> dict[str, Any]:
    return {
        "status": "firing",
        "startsAt": "2026-03-02T12:00:00.000Z",
        "labels": {"alertname": "PdscopeBudgetBurn", "slo": "chat", "model": "llama", "severity": "page"},
        "annotations": {
            "summary": "chat: burns <fast> & hot",
            "dashboard": "https://g/d/pdscope-why?from=now-1h",
            "runbook_url": "https://r/slo_burn.md",
        },
    } | given


def text_of(body: dict[str, Any]) -> str:
    return "\n".join(block["text"]["text"] for block in body["blocks"])


def test_a_message_says_what_burns_why_and_where_to_look() -> None:
    why = Why(31, 420, (("overload", 29.5),), "29 of 31 waited for both pools.", (("prefill_queue", 30),))
    body = message({"alerts": [an_alert()]}, [why])
    assert body["text"] == "pdscope: 1 firing: chat: burns &lt;fast&gt; &amp; hot"
    assert text_of(body).splitlines() == [
        "*FIRING* chat: burns &lt;fast&gt; &amp; hot",
        "slo `chat` · model `llama`",
        "31 of 420 requests missed.",
        "29 of 31 waited for both pools.",
        "Causes: overload 30",
        "Waited longest in: prefill_queue 30",
        "<https://g/d/pdscope-why?from=now-1h|Dashboard> · <https://r/slo_burn.md|Runbook>",
    ]


def test_a_resolved_alert_asks_for_nothing() -> None:
    body = message({"alerts": [an_alert(status="resolved")]}, [Why(1, 2, ())])
    assert body["text"].startswith("pdscope: resolved: ")
    assert "missed" not in text_of(body)


def test_many_alerts_are_counted() -> None:
    body = message({"alerts": [an_alert()] * (MAX_ALERTS + 3)}, ["no"] * MAX_ALERTS)
    assert "and 3 more alerts" in text_of(body)
    assert len(body["blocks"]) == MAX_ALERTS + 1


def test_text_of_others_cannot_mention_or_link() -> None:
    assert escaped("<!channel> & <http://x|y>") == "&lt;!channel&gt; &amp; &lt;http://x|y&gt;"


class Api:
    """Answers of REST by path."""

    def __init__(self, **answers: Any):
        self.answers = answers
        self.asked: list[dict[str, Any]] = []

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        self.asked.append(params)
        answer = self.answers.get(path.rsplit("/", 1)[-1])
        if answer is None:
            raise CommandError("no such path")
        return dict(answer)


POINTS = {
    "points": [
        {"missed": 3, "evaluated": 9, "by_cause": {"overload": 3}, "by_phase": {"prefill_queue": 3}},
        {"missed": 1, "evaluated": 8, "by_cause": {"preemption": 1}, "by_phase": {"decode": 1}},
    ]
}


def test_the_diagnosis_is_of_the_time_around_the_alert_and_of_its_model() -> None:
    api = Api(
        timeseries=POINTS, diagnosis={"summary": "S", "causes": [{"cause": "overload", "requests": 4.0}]}
    )
    why = diagnose(api, STARTED, STARTED.replace(hour=13), "llama")
    assert why == Why(4, 17, (("overload", 4.0),), "S", (("prefill_queue", 3), ("decode", 1)))
    assert {params["model"] for params in api.asked} == {"llama"}
    assert api.asked[0]["from_"] == "2026-03-02T11:30:00+00:00"
    assert api.asked[0]["to"] == "2026-03-02T13:00:00+00:00"


def test_without_a_diagnosis_the_counts_still_say_where_requests_waited() -> None:
    why = diagnose(Api(timeseries=POINTS), STARTED, STARTED, "all")
    assert why.causes == (("overload", 3), ("preemption", 1))
    assert why.summary == ""


class _Slack(BaseHTTPRequestHandler):
    got: list[Any]
    status = 200

    def do_POST(self) -> None:
        self.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def slack() -> Iterator[tuple[str, type[_Slack]]]:
    handler = type("Handler", (_Slack,), {"got": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/hook", handler
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def webhook(slack: tuple[str, type[_Slack]]) -> Iterator[WebhookServer]:
    server = WebhookServer("127.0.0.1:0", "http://127.0.0.1:9", slack[0], "secret")
    server.start()
    yield server
    server.stop()


def post(server: WebhookServer, body: Any, token: str = "secret") -> httpx.Response:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.post(f"{server.url}/alerts", content=data, headers=headers, timeout=30)


def test_an_alert_gets_through_when_pdscope_is_down(
    webhook: WebhookServer, slack: tuple[str, type[_Slack]]
) -> None:
    assert post(webhook, {"alerts": [an_alert()]}).status_code == 200
    (body,) = slack[1].got
    assert "No diagnosis: no pdscope answers at http://127.0.0.1:9" in text_of(body)


def test_a_refused_message_is_tried_again_by_alertmanager(
    webhook: WebhookServer, slack: tuple[str, type[_Slack]]
) -> None:
    slack[1].status = 500
    assert post(webhook, {"alerts": [an_alert()]}).status_code == 502


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"alerts": []}', b'{"alerts": [1]}', b'{"alerts": {}}'])
def test_what_is_no_notification_is_refused(webhook: WebhookServer, body: bytes) -> None:
    assert post(webhook, body).status_code == 400


def test_odd_members_do_not_stop_an_alert(webhook: WebhookServer, slack: tuple[str, type[_Slack]]) -> None:
    assert post(webhook, {"alerts": [{"status": "firing", "startsAt": "soon"}]}).status_code == 200
    assert "*FIRING* alert" in text_of(slack[1].got[0])


def test_callers_must_bring_the_token(webhook: WebhookServer) -> None:
    assert post(webhook, {"alerts": [an_alert()]}, token="wrong").status_code == 401
    assert httpx.get(f"{webhook.url}/healthz").text == "ok"
    assert httpx.get(webhook.url).status_code == 404


def test_it_does_not_listen_on_the_network_without_a_token() -> None:
    with pytest.raises(ConfigError, match="PDSCOPE_TOKEN"):
        WebhookServer("0.0.0.0:0", "http://127.0.0.1:9", None, None)
