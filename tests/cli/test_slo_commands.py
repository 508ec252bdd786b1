"""The SLO report as a document, comparisons, and objectives for other tools, from the command line."""

import csv
import io
import json
from pathlib import Path

import pytest

from analyzer.slo.objectives import load_objectives
from tests.cli.conftest import Run, Served
from tests.cli.test_commands import CAPTURE, wait_until_settled

WHOLE = ("--from", "2026-11-29T17:16:00Z", "--to", "2026-11-29T17:18:00Z")
BURST_2 = ("--from", "2026-11-29T17:16:44.82Z", "--to", "2026-11-29T17:16:46Z")
BURST_1 = ("--baseline-from", "2026-11-29T17:16:44Z", "--baseline-to", "2026-11-29T17:16:44.82Z")
"""Halves of a burst that met too little prefill."""


@pytest.fixture(scope="module")
def api(served: Served, pdscope: Run) -> str:
    """A pdscope that holds a real run of vLLM."""
    assert pdscope("import", str(CAPTURE), "--api", served.api).returncode == 0
    wait_until_settled(served)
    return served.api


def test_a_report_comes_in_every_format(pdscope: Run, api: str) -> None:
    given = ("report", *WHOLE, "--gpus", "2", "--api", api, "--format")
    body = json.loads(pdscope(*given, "json").stdout)
    assert body["total"]["requests"]["evaluated"] == 100
    assert body["total"]["efficiency"]["gpu_hours"]["source"] == "supplied"
    rows = list(csv.DictReader(io.StringIO(pdscope(*given, "csv").stdout)))
    assert (rows[0]["by"], rows[0]["evaluated"]) == ("objective", "100")
    assert pdscope(*given, "md").stdout.startswith("# SLO report\n")
    assert pdscope(*given, "html").stdout.startswith("<!doctype html>")


def test_a_report_that_is_refused_is_a_line(pdscope: Run, api: str) -> None:
    failed = pdscope("report", "--from", "yesterday", "--format", "html", "--api", api)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.startswith("pdscope: from: 'yesterday'")
    both = pdscope("report", "--json", "--format", "md", "--api", api)
    assert both.returncode == 2
    assert "--format json" in both.stderr


def test_before_and_after_are_compared(pdscope: Run, api: str) -> None:
    given = ("compare", *BURST_2, *BURST_1, "--ttft", "12", "--tpot", "5", "--api", api)
    answer = json.loads(pdscope(*given, "--json").stdout)
    # Who came later in the burst had more prompts in front.
    assert answer["attainment"]["ttft"]["better"] == "baseline"
    drawn = pdscope(*given, "--baseline-gpus", "2", "--candidate-gpus", "2").stdout
    for words in ("TTFT within limit", "equal: 2 on each side", "By prompt length", "1-4K"):
        assert words in drawn


def test_unlike_sides_are_a_line(pdscope: Run, api: str) -> None:
    failed = pdscope("compare", "--baseline", "a", "--candidate", "b", "--api", api)
    assert failed.returncode == 1
    assert "baseline has 0 evaluated requests" in failed.stderr
    unequal = ("--baseline-gpus", "2", "--candidate-gpus", "4", "--equal-accelerators")
    refused = pdscope("compare", *BURST_2, *BURST_1, *unequal, "--api", api)
    assert refused.returncode == 1
    assert "baseline 2, candidate 4" in refused.stderr


def test_objectives_go_out_and_come_back(pdscope: Run, tmp_path: Path) -> None:
    mine, theirs, again = (tmp_path / name for name in ("slo.yaml", "openslo.yaml", "again.yaml"))
    mine.write_text("objectives: [{name: chat, ttft: 1, tpot: 0.05, target: 0.95, period_days: 7}]\n")
    assert pdscope("slo", "export", "--slo", str(mine), "--out", str(theirs)).returncode == 0
    assert pdscope("slo", "import", str(theirs), "--out", str(again)).returncode == 0
    assert load_objectives(again) == load_objectives(mine)
    sloth = pdscope("slo", "export", "--slo", str(mine), "--format", "sloth")
    assert "[{{.window}}]" in sloth.stdout
    assert "its period is 7 days" in sloth.stderr
    assert "kind: ServiceLevelObjective" in pdscope("slo", "export", "--format", "pyrra").stdout


def test_a_file_of_nothing_that_fits_is_a_line(pdscope: Run, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("apiVersion: openslo/v1\nkind: Service\nmetadata: {name: a}\n")
    failed = pdscope("slo", "import", str(tmp_path / "other.yaml"))
    assert failed.returncode == 2
    assert "no objective could be made" in failed.stderr
