"""`pdscope demo` shows a page and a request, and leaves nothing behind."""

import signal
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.integration.running import COMMAND, environment


@pytest.mark.timeout(150)
def test_the_demo_explains_a_request_and_stops_cleanly(tmp_path: Path) -> None:
    here, scratch = tmp_path / "cwd", tmp_path / "tmp"
    here.mkdir()
    scratch.mkdir()
    process = subprocess.Popen(
        [*COMMAND, "demo", "--api", "127.0.0.1:0"],
        cwd=here,
        env=environment(TMPDIR=str(scratch)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        shown = ""
        for line in process.stdout:
            shown += line
            if line.startswith("Still streaming"):
                break
        address = shown.splitlines()[0].removeprefix("The page: ")
        assert "text/html" in httpx.get(address).headers["content-type"]
        assert "TTFT" in shown
        assert "What TTFT is made of" in shown
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert errors == ""
    assert [*here.iterdir(), *scratch.iterdir()] == []
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
