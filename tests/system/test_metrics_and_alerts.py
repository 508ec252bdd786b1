"""What the README says of metrics, of being told, and of more than one machine."""

import json
from pathlib import Path

import httpx
import pytest

from tests.dashboards.programs import wait_for
from tests.integration.running import pdscope
from tests.system.conftest import Scraped
from tests.system.day import PATIENCE_S, TOKEN, UNMEASURED, Day

EVER = {"from": 0, "to": 4000000000}


@pytest.mark.promise(
    "A verdict is surer where the engines' metrics confirm what requests show",
    "without them it is given with less confidence, and says what it lacked",
)
def test_with_and_without_metrics(day: Day) -> None:
    """one incident played twice: the cause is the same, the confidence lower, the missing signal named"""
    told, bare = (day.get("/diagnosis", **day.incident(name).asked) for name in (UNMEASURED, "unmeasured"))
    assert told["dominant_cause"] == bare["dominant_cause"]
    assert told["causes"][0]["confidence"] > bare["causes"][0]["confidence"]
    assert not told["missing_telemetry"]
    assert "pool_signals" in {gap["signal"] for gap in bare["missing_telemetry"]}


@pytest.mark.promise(
    "Say where they are:",
    "# scrape.yaml, for `pdscope serve --scrape scrape.yaml`",
    "Targets may also come from [files and from Kubernetes]",
)
def test_workers_are_scraped_each_once(day: Day, workers: Scraped) -> None:
    """two collectors with the README's scrape.yaml, a file of targets and a pod: each target is one's"""

    def scraped() -> list[float]:
        return [day.metric(name, "pdscope_scrape_targets{") for name in ("collector-1", "collector-2")]

    wait_for(lambda: sum(scraped()) == len(workers.addresses) == 4, PATIENCE_S, scraped)
    rows = day.get("/telemetry", **EVER)["scraped"]
    assert {row["worker"] for row in rows} >= workers.addresses, rows


@pytest.mark.promise("metrics over OTLP from whoever scrapes them already")
def test_metrics_over_otlp(day: Day) -> None:
    """metrics that an incident's workers sent over OTLP are in what the verdict quotes"""
    found = day.get("/diagnosis", **day.incident("prefill-starved").asked)
    assert any(seen["signal"].startswith("prefill.queue") for seen in found["causes"][0]["evidence"])


@pytest.mark.promise(
    "`pdscope doctor` says what arrives, what is missing for which answer, and the line that would bring it"
)
def test_doctor(day: Day) -> None:
    """`pdscope doctor` asked of the deployment"""
    asked = ("doctor", "--all", "--json", "--from", "0", "--to", "4000000000")
    done = pdscope(*asked, "--api", day.native.url("analyzer-1", 8080), PDSCOPE_TOKEN=TOKEN)
    assert done.returncode in (0, 1), done.stderr
    told = json.loads(done.stdout)
    missing = [check for check in told["checks"] if check["kind"] == "missing"]
    assert missing
    assert all(check["fix"] and check["matters"] for check in missing)
    assert any("vllm_connector" in check["fix"] for check in missing)
    assert len(told["workers"]) > 20


@pytest.mark.promise(
    "`pdscope rules build` writes Prometheus' alert rules from `slo.yaml`",
    "`pdscope alert-webhook` adds to each of Alertmanager's alerts what made requests miss",
)
def test_an_incident_reaches_the_one_on_call_with_its_cause(day: Day) -> None:
    """an incident that goes on now, through Debian's Prometheus and Alertmanager to the webhook's message"""
    day.play("slow-link", name="live")
    cause, model = day.incident("live").cause, "sim-live"
    webhook = day.native.programs["webhook"]

    def told() -> list[str]:
        blocks = [
            block["text"]["text"]
            for line in webhook.lines
            if line.startswith("{")
            for block in json.loads(line)["blocks"]
        ]
        return [text for text in blocks if f"model `{model}`" in text and f"cause `{cause}`" in text]

    text = wait_for(told, PATIENCE_S, lambda: webhook.lines[-5:])[0]
    assert f"Causes: {cause} " in text
    alerts = httpx.get(day.native.url("alertmanager", 9093) + "/api/v2/alerts", timeout=60).json()
    mine = [alert for alert in alerts if alert["labels"].get("model") == model]
    assert {alert["labels"]["alertname"] for alert in mine} >= {"PdscopeTransferSlow"}
    assert mine[0]["annotations"]["runbook_url"].endswith(".md")


@pytest.mark.promise("`pdscope dashboards build` Grafana's dashboards")
def test_dashboards(tmp_path: Path) -> None:
    """the files that `pdscope dashboards build` writes; Grafana itself does not run here"""
    done = pdscope("dashboards", "build", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    boards = [json.loads(path.read_text("utf-8")) for path in (tmp_path / "dashboards").glob("*.json")]
    assert len(boards) >= 6
    assert all(board["panels"] and board["title"] for board in boards)


@pytest.mark.promise(
    "collectors and analyzers run apart over a ClickHouse server, as many of each as you like",
    "any analyzer answers",
)
def test_apart(day: Day) -> None:
    """two collectors, two analyzers that answer alike, ClickHouse's engine behind HTTP"""
    assert day.native.get("collector-1", 8080, "/api/v1/slo").status_code == 404
    for name in ("collector-1", "collector-2"):
        assert day.metric(name, "pdscope_received_spans_total{") > 0
    asked = day.incident("slow-link").asked
    answers = [day.get("/slo", name, **asked) for name in ("analyzer-1", "analyzer-2")]
    counts = [[found["requests"] for found in answer["objectives"]] for answer in answers]
    assert counts[0] == counts[1]
