"""`pdscope demo`: the README's first command."""

import json
import signal
import subprocess
import sys

import httpx

from tests.cli.conftest import environment
from tests.paths import PROJECT


def test_the_demo_explains_a_missed_request_and_goes_on_streaming() -> None:
    command = [sys.executable, "-m", "analyzer.cli.main", "demo", "--json", "--api", "127.0.0.1:0"]
    demo = subprocess.Popen(
        command, cwd=PROJECT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert demo.stdout
    assert demo.stderr
    try:
        page = demo.stderr.readline().removeprefix("The page: ").strip()
        found = _json(iter(demo.stdout.readline, ""))
        assert found["met"]["joint"] is False
        assert found["intervals"]
        assert abs(sum(found["exposed"].values()) - found["ttft"]) < 1e-8
        assert httpx.get(page).status_code == 200
        assert demo.poll() is None
    finally:
        demo.send_signal(signal.SIGINT)
        try:
            demo.communicate(timeout=60)
        finally:
            demo.kill()
    assert demo.returncode == 0


def _json(lines):
    """One indented JSON object from a stream that stays open."""
    read = []
    for line in lines:
        read.append(line)
        if line.rstrip() == "}":
            return json.loads("".join(read))
    raise AssertionError(f"no request was explained: {''.join(read)}")
