"""`pdscope demo --scenario` as a newcomer runs it."""

import json
import signal
import subprocess
import sys

import pytest

from analyzer.demo.scenarios.catalogue import SCENARIOS
from analyzer.demo.scenarios.player import Player
from tests.cli.conftest import environment
from tests.integration.running import pdscope
from tests.paths import PROJECT


def test_the_list_names_every_scenario_and_its_cause() -> None:
    shown = pdscope("demo", "--list", "--json")

    rows = json.loads(shown.stdout)
    assert {row["name"]: row["cause"] for row in rows} == {s.name: s.cause for s in SCENARIOS.values()}
    assert all(row["story"] for row in rows)


def test_an_unknown_scenario_is_one_line_that_names_the_known_ones() -> None:
    refused = pdscope("demo", "--scenario", "no-such")

    assert refused.returncode == 2
    assert "'no-such' is none of healthy, prefill-starved" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_round_is_not_told_slower_than_it_happened() -> None:
    with pytest.raises(ValueError, match=r"speed is 0\.5"):
        Player("127.0.0.1:1", SCENARIOS["healthy"], 0.5)


@pytest.mark.timeout(240)
def test_a_scenario_is_streamed_and_its_verdict_printed() -> None:
    command = [sys.executable, "-m", "analyzer.cli.main", "demo", "--scenario", "slow-tokenizer", "--json"]
    demo = subprocess.Popen(
        [*command, "--api", "127.0.0.1:0", "--speed", "30"],
        cwd=PROJECT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert demo.stdout
    try:
        read = ""
        for line in demo.stdout:
            read += line
            if line.rstrip() == "}":
                break
        found = json.loads(read)
        assert found["claims"] == "tokenizer_slow"
        assert found["diagnosis"]["dominant_cause"] == "tokenizer_slow"
        assert demo.poll() is None
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=60)
    finally:
        demo.kill()
        demo.communicate()
    assert demo.returncode == 0
