"""`GET /slo/report` in its formats."""

import csv
import io
import json
from html.parser import HTMLParser

import httpx
import pytest

from analyzer.api.negotiation import wanted
from analyzer.slo.objectives import Objective, Objectives, Selector
from collector.store.store import Store
from tests.api.conftest import MakeClient
from tests.api.rows import a_request, insert

WINDOW = {"from": "2026-03-02T12:00:00Z", "to": "2026-03-02T13:00:00Z"}
HOSTILE = '=HYPERLINK("x")|<script>alert(1)</script>\n`*_[a](b)'


def ask(client: httpx.Client, format: str | None = None, accept: str | None = None) -> httpx.Response:
    params = WINDOW | ({"format": format} if format else {})
    answer = client.get("/api/v1/slo/report", params=params, headers={"Accept": accept} if accept else {})
    assert answer.status_code == 200, answer.text
    return answer


@pytest.fixture
def reported(store: Store, make_client: MakeClient) -> httpx.Client:
    outcomes = ("cancelled", "rejected", "error", "invalid", "")
    rows = [a_request(number, outcome=outcome, tenant="acme") for number, outcome in enumerate(outcomes)]
    insert(store, [*rows, a_request(10), a_request(11, ttft=9, tenant=HOSTILE)])
    acme = Objective("acme", 1.0, 0.05, selector=Selector(tenant="acme"))
    return make_client(Objectives((acme, Objective("rest", 2.0, 0.1, target=0.4))))


def test_every_outcome_has_its_place(reported: httpx.Client) -> None:
    body = ask(reported).json()
    counts = {name: count for name, count in body["total"]["requests"].items() if count}
    assert counts == {
        "total": 7,
        "evaluated": 4,
        "met": 1,
        "missed": 3,
        "rejected": 1,
        "errored": 1,
        "cancelled": 1,
        "invalid": 1,
        "incomplete": 1,
    }
    assert [item["requests"]["total"] for item in body["objectives"]] == [5, 2]
    assert set(body["groups"]) == {
        *("model", "tenant", "route", "cohort", "input_bucket", "output_bucket", "concurrency"),
    }
    tenants = {group["key"]: group for group in body["groups"]["tenant"]}
    assert tenants[None]["attainment"]["joint"] == 1
    # acme may miss 1% of its requests, the others 60%: 3 of 0.02 + 1.2 were missed.
    assert body["total"]["burn_rates"]["1h"] == pytest.approx(3 / 1.22)


def test_csv_has_a_row_for_everything_and_no_formula(reported: httpx.Client) -> None:
    answer = ask(reported, "csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert [(row["by"], row["key"]) for row in rows[:4]] == [
        ("objective", "acme"),
        ("objective", "rest"),
        ("all", ""),
        ("model", "llama"),
    ]
    assert [row["key"] for row in rows if row["by"] == "tenant"] == ["acme", "", "'" + HOSTILE]
    body = ask(reported).json()
    assert float(rows[2]["attainment_joint"]) == body["total"]["attainment"]["joint"]
    assert float(rows[1]["burn_1h"]) == pytest.approx(body["objectives"][1]["burn_rates"]["1h"])
    assert rows[2]["gpu_hours"] == ""
    assert "do not say pd.gpus" in rows[2]["not_known"]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_keeps_names_as_text_and_asks_for_nothing(reported: httpx.Client) -> None:
    answer = ask(reported, "html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = Tags()
    page.feed(answer.text)
    assert not page.seen & {"script", "link", "img", "a", "iframe"}
    assert HOSTILE in page.text
    assert "Broken" in page.text
    assert "rest: 50% of 2 evaluated requests met both limits; the target is 40%" in page.text


def test_markdown_keeps_a_table_a_table(reported: httpx.Client) -> None:
    lines = ask(reported, "md").text.splitlines()
    (row,) = [line for line in lines if "script" in line and "/s |" not in line]
    assert row.replace("\\|", "").count("|") == 14
    assert "\\<script\\>" in row
    assert "\\`\\*\\_\\[a\\](b)" in row


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("*/*", "application/json"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html; charset=utf-8"),
        ("text/csv", "text/csv; charset=utf-8"),
        ("text/markdown;q=0.5, text/csv;q=0.4", "text/markdown; charset=utf-8"),
        ("image/png", "application/json"),
    ],
)
def test_accept_chooses_the_format(client: httpx.Client, accept: str, media: str) -> None:
    assert ask(client, accept=accept).headers["content-type"] == media


def test_format_wins_over_accept(client: httpx.Client) -> None:
    assert ask(client, "md", accept="text/html").headers["content-type"].startswith("text/markdown")


def test_an_unknown_format_is_named(client: httpx.Client) -> None:
    answer = client.get("/api/v1/slo/report", params={"format": "pdf"})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "format")


@pytest.mark.parametrize("format", ["json", "csv", "md", "html"])
def test_an_empty_window_is_reported_too(client: httpx.Client, format: str) -> None:
    assert ask(client, format).text


OFFERED = {"json": "application/json", "html": "text/html"}


@pytest.mark.parametrize(
    ("accept", "format"),
    [
        ("", "json"),
        ("text/*", "html"),
        ("text/html;q=0, */*", "json"),
        ("TEXT/HTML ; Q=1", "html"),
        ("text/html;q=high", "json"),
        (",;,", "json"),
    ],
)
def test_negotiation_is_that_of_http(accept: str, format: str) -> None:
    assert wanted(accept, OFFERED) == format


def test_the_report_is_valid_json_of_the_documented_shape(reported: httpx.Client) -> None:
    group = json.loads(ask(reported).text)["groups"]["model"][0]
    assert group["efficiency"]["gpu_hours"]["source"] is None
    assert group["efficiency"]["per_good_request"]["requests"] == {
        "value": 2.0,
        "source": "observed",
        "reason": None,
    }
