"""The wheel holds everything, and works where only it and its dependencies are installed."""

import json
import os
import signal
import subprocess
import zipfile
from pathlib import Path

import pytest

from analyzer.demo.capture import load
from tests.packaging.installed import build, install
from tests.paths import PROJECT

pytestmark = pytest.mark.timeout(900)

PACKAGES = ("collector", "analyzer", "dashboards")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def pdscope(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(wheel, tmp_path_factory.mktemp("installed"))


def run(pdscope: Path, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [pdscope, *arguments],
        cwd=folder,
        env=clean(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def clean() -> dict[str, str]:
    unwanted = ("PYTHONPATH", "PYTHONHOME")
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PDSCOPE_") and name not in unwanted
    }


def test_it_holds_every_file_of_the_packages(wheel: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    held = set(zipfile.ZipFile(wheel).namelist())
    kept = [name for name in listed.stdout.splitlines() if (PROJECT / name).exists()]
    assert [name for name in kept if name not in held] == []
    kinds = {Path(name).suffix for name in held}
    assert {".py", ".sql", ".proto", ".txt", ".js", ".css", ".html", ".svg", ".gz", ".json", ".yml"} <= kinds


def test_it_holds_nothing_else(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


def test_it_runs_from_its_own_files(pdscope: Path, tmp_path: Path) -> None:
    code = "import collector as c, analyzer as a, dashboards as d; print(c.__file__, a.__file__, d.__file__)"
    shown = subprocess.run(
        [pdscope.with_name("python"), "-c", code],
        cwd=tmp_path,
        env=clean(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(str(pdscope.parent.parent) in path for path in shown.stdout.split())
    assert run(pdscope, tmp_path, "--version").startswith("pdscope 0.")


def test_dashboards_and_rules_are_built(pdscope: Path, tmp_path: Path) -> None:
    run(pdscope, tmp_path, "dashboards", "build", "--out", "grafana")
    run(pdscope, tmp_path, "rules", "build", "--out", "rules")
    assert (tmp_path / "rules/prometheus/pdscope.rules.yml").exists()
    assert len(list((tmp_path / "grafana/dashboards").glob("*.json"))) >= 6


def test_a_capture_is_imported_and_reported(pdscope: Path, tmp_path: Path) -> None:
    body = b"".join(export.body for export in load("vllm").exports[:40])
    (tmp_path / "capture.otlp").write_bytes(body)
    run(pdscope, tmp_path, "import", "--data", "data", "capture.otlp")
    asked = ("--from", "1970-01-01T00:00:00Z", "--json")
    report = json.loads(run(pdscope, tmp_path, "report", "--data", "data", *asked))
    assert sum(item["requests"]["total"] for item in report["slo"]["objectives"]) > 0


@pytest.mark.long
def test_the_demo_explains_a_request(pdscope: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [pdscope, "demo", "--json", "--data", "data"],
        cwd=tmp_path,
        env={**clean(), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            if "Still streaming" in line:
                break
    finally:
        process.send_signal(signal.SIGINT)
        said += process.stdout.readlines()
        process.stdout.close()
        code = process.wait(timeout=300)
    text = "".join(said)
    assert code == 0, text
    assert "Still streaming" in text, text
    report = json.loads(run(pdscope, tmp_path, "report", "--data", "data", "--json"))
    assert report["slo"]["objectives"][0]["requests"]["total"] > 0
