"""What the README says of objectives."""

import csv
import io
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.running import pdscope
from tests.paths import PROJECT
from tests.system.day import CHAT, TOKEN, Day

EVER = {"from": 0, "to": 4000000000}


def ask(day: Day, *words: str) -> "subprocess.CompletedProcess[str]":
    """Ask the deployment on the command line."""
    return pdscope(*words, "--api", day.native.url("analyzer-2", 8080), PDSCOPE_TOKEN=TOKEN)


def window(day: Day, name: str) -> tuple[str, ...]:
    asked = day.incident(name).asked
    return ("--from", str(asked["from"]), "--to", str(asked["to"]))


@pytest.mark.promise(
    "Objectives live in a YAML file (`pdscope serve --slo slo.yaml`); the first that matches a "
    "request counts",
    "selector: {model: llama-70b, input_bucket: 0-1K}",
)
def test_the_first_that_matches(day: Day) -> None:
    """the README's objective before a wider one of the same model: requests of short prompts count there"""
    requests = day.requests(model=CHAT)
    assert len(requests) == sum(day.incident(name).requests for name in ("chat-before", "chat-after"))
    for request in requests:
        assert request["objective"] == ("chat-short" if request["input_tokens"] < 1024 else "chat-any")
    assert {request["objective"] for request in requests} == {"chat-short", "chat-any"}
    (shown,) = [found for found in day.get("/slo", **EVER)["objectives"] if found["name"] == "chat-short"]
    assert (shown["ttft"], shown["tpot"], shown["target"], shown["period_days"]) == (0.8, 0.03, 0.99, 30)


@pytest.mark.promise(
    "Any question can bring its own: `pdscope report --ttft 0.5 --tpot 0.02`, or "
    "`?ttft=0.5&tpot=0.02` over REST"
)
def test_an_objective_of_ones_own(day: Day) -> None:
    """one question on the command line and over REST: one answer, another than with the file's"""
    asked = {key: day.incident("slow-link").asked[key] for key in ("from", "to")}
    rest = day.get("/slo", "analyzer-2", **asked, ttft=0.5, tpot=0.02)["objectives"]
    done = ask(day, "report", *window(day, "slow-link"), "--ttft", "0.5", "--tpot", "0.02", "--format", "csv")
    assert done.returncode == 0, done.stderr
    rows = csv.DictReader(io.StringIO(done.stdout))
    told = {row["key"]: row for row in rows if row["by"] == "objective"}
    for found in rest:
        counts = {name: str(found["requests"][name]) for name in ("total", "evaluated", "met")}
        assert {name: told[found["name"]][name] for name in counts} == counts
    configured = day.get("/slo", "analyzer-2", **asked)["objectives"]
    assert met(rest) < met(configured)


def met(objectives: list[dict[str, Any]]) -> int:
    return sum(found["requests"]["met"] for found in objectives)


@pytest.mark.promise("A report to hand on is `pdscope report --format html`")
def test_a_report_to_hand_on(day: Day) -> None:
    """the HTML of a day: one file, nothing loaded from elsewhere"""
    done = ask(day, "report", *window(day, "chat-before"), "--format", "html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.lower().startswith("<!doctype html>")
    assert "chat-short" in done.stdout
    assert not re.search(r"<(script|link|img)\b", done.stdout)


@pytest.mark.promise("`pdscope compare` sets two deployments, or before and after, side by side")
def test_compare(day: Day) -> None:
    """two cohorts of one model, and the same as two windows: after is better"""
    cohorts = ("--baseline", "before", "--candidate", "after")
    both = (
        "--from",
        str(day.incident("chat-before").asked["from"]),
        "--to",
        str(day.incident("chat-after").asked["to"]),
    )
    windows = (
        *window(day, "chat-after"),
        *("--baseline-from", str(day.incident("chat-before").asked["from"])),
        *("--baseline-to", str(day.incident("chat-before").asked["to"])),
    )
    for words in ((*cohorts, *both), windows):
        done = ask(day, "compare", *words, "--model", CHAT)
        assert done.returncode == 0, done.stderr
        assert "candidate is better" in done.stdout


@pytest.mark.promise("`pdscope slo` reads and writes OpenSLO")
def test_openslo(tmp_path: Path) -> None:
    """the deployment's slo.yaml to OpenSLO and back, and to OpenSLO once more"""
    written = [tmp_path / name for name in ("one.yaml", "slo.yaml", "two.yaml")]
    source = PROJECT / "deploy/config/slo.yaml"
    steps = (
        ("export", "--slo", source, "--out", written[0]),
        ("import", written[0], "--out", written[1]),
        ("export", "--slo", written[1], "--out", written[2]),
    )
    for step in steps:
        done = pdscope("slo", *step)
        assert done.returncode == 0, done.stderr
    assert "apiVersion: openslo/v1" in written[0].read_text("utf-8")
    assert written[0].read_text("utf-8") == written[2].read_text("utf-8")


@pytest.mark.promise("says what each number means")
def test_numbers_are_explained(day: Day) -> None:
    """docs/slo.md names every number of an objective's answer"""
    page = (PROJECT / "docs/slo.md").read_text("utf-8").lower()
    found = day.get("/slo", **day.incident("slow-link").asked)["objectives"][0]
    named = {*found["requests"], *found["attainment"], "attainment", "budget_left", "burn rate", "goodput"}
    assert [
        word for word in named if word.replace("_s", "").replace("_", " ") not in page and word not in page
    ] == []
