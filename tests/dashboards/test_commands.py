"""`pdscope dashboards` and `pdscope rules`: files, drift, and a Grafana that is pushed to."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from analyzer.cli.main import app
from dashboards.boards import BOARDS
from tests.dashboards.test_boards import errors, validator
from tests.paths import PROJECT

RUNNER = CliRunner()


def run(*arguments: object, code: int = 0) -> str:
    result = RUNNER.invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output + str(result.exception or "")


def test_building_twice_changes_nothing(tmp_path: Path) -> None:
    for command in ("dashboards", "rules"):
        run(command, "build", "--out", tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    for command in ("dashboards", "rules"):
        run(command, "build", "--out", tmp_path)
        assert "up to date" in run(command, "build", "--out", tmp_path, "--check")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before


def test_drift_is_named(tmp_path: Path) -> None:
    run("dashboards", "build", "--out", tmp_path)
    path = tmp_path / "dashboards/pdscope-why.json"
    path.write_text(path.read_text().replace("Causes", "Reasons"))
    (tmp_path / "dashboards/pdscope-pools.json").unlink()
    said = run("dashboards", "build", "--out", tmp_path, "--check", code=1)
    assert "pdscope-why.json: differs" in said
    assert "pdscope-pools.json: missing" in said


def test_the_committed_files_are_what_is_built() -> None:
    generated = PROJECT / "dashboards/generated"
    for command in ("dashboards", "rules"):
        assert "up to date" in run(command, "build", "--out", generated, "--check")


def test_rules_follow_the_objectives(tmp_path: Path) -> None:
    slo = tmp_path / "slo.yaml"
    slo.write_text("objectives: [{name: chat, ttft: 0.8, tpot: 0.03, target: 0.999, period_days: 7}]")
    run("rules", "build", "--slo", slo, "--out", tmp_path, "--grafana", "https://g.example", "--every", "5")
    text = (tmp_path / "prometheus/pdscope.rules.yml").read_text()
    groups = yaml.safe_load(text)["groups"]
    assert groups[0]["name"] == "pdscope_burn_chat"
    assert all(group["interval"] == "5s" for group in groups)
    assert "https://g.example/d/pdscope-slo" in text
    assert "/ 0.001\n" in text


def test_grafana_managed_alerts_fit_their_schema(tmp_path: Path) -> None:
    run("rules", "build", "--out", tmp_path)
    loaded = yaml.safe_load((tmp_path / "provisioning/alerting/pdscope.yml").read_text())
    assert loaded["apiVersion"] == 1
    (group,) = loaded["groups"]
    for rule in group["rules"]:
        # A file names folder and group once, above its rules; the model has them in each.
        whole = {**rule, "folderUID": group["folder"], "ruleGroup": group["name"], "orgID": group["orgId"]}
        assert errors(validator("alerting", "Rule"), whole) == []
        refs = [query["refId"] for query in rule["data"]]
        assert rule["condition"] == "C"
        assert refs[-1] == "C"
    assert len({rule["uid"] for rule in group["rules"]}) == len(group["rules"])


class _Grafana(BaseHTTPRequestHandler):
    """What Grafana answers to the calls that push makes, keeping what it is given."""

    kept: dict[str, Any]

    def do_GET(self) -> None:
        self._say(200 if "folder" in self.kept else 404, {"message": "folder not found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers.get("Authorization") != "Bearer secret":
            self._say(401, {"message": "Unauthorized"})
        elif self.path == "/base/api/folders":
            self.kept["folder"] = body
            self._say(200, body)
        else:
            self.kept.setdefault("boards", []).append(body)
            self._say(200, {"status": "success", "uid": body["dashboard"]["uid"]})

    def _say(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def grafana() -> Iterator[tuple[str, dict[str, Any]]]:
    kept: dict[str, Any] = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Grafana,), {"kept": kept}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/base", kept
    server.shutdown()
    thread.join()
    server.server_close()


def test_pushing_makes_the_folder_and_every_dashboard(
    grafana: tuple[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, kept = grafana
    monkeypatch.setenv("GRAFANA_TOKEN", "secret")
    for _ in range(2):
        run("dashboards", "push", "--grafana", url)
    assert kept["folder"] == {"uid": "pdscope", "title": "pdscope"}
    assert [body["dashboard"]["uid"] for body in kept["boards"]] == [board.uid for board in BOARDS] * 2
    assert all(body["overwrite"] and body["folderUid"] == "pdscope" for body in kept["boards"])


def test_a_refusal_says_what_to_do(grafana: tuple[str, dict[str, Any]]) -> None:
    assert "GRAFANA_TOKEN" in run("dashboards", "push", "--grafana", grafana[0], code=1)


def test_no_grafana_is_said_so() -> None:
    assert "no Grafana answers" in run("dashboards", "push", "--grafana", "http://127.0.0.1:9", code=1)
    assert "not an address" in run("dashboards", "push", "--grafana", "grafana", code=1)
