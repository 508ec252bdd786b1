"""A running pdscope takes a changed slo.yaml, and keeps the last good one."""

import json
from pathlib import Path
from typing import Any

import httpx

from tests.dashboards.programs import wait_for
from tests.integration.running import ALL, Server, serving

GOOD = "objectives:\n  - {{name: {name}, ttft: 1.5, tpot: 0.05}}\n"


def names(server: Server) -> list[str]:
    found: list[dict[str, Any]] = server.get("/slo", **ALL)["objectives"]
    return [item["name"] for item in found]


def reasons(server: Server) -> tuple[int, list[str]]:
    answer = httpx.get(f"{server.api}/readyz", timeout=60)
    return answer.status_code, json.loads(answer.text)["reasons"]


def test_objectives_change_without_a_restart(tmp_path: Path) -> None:
    slo = tmp_path / "slo.yaml"
    slo.write_text(GOOD.format(name="first"))
    with serving(tmp_path / "data", "--slo", str(slo)) as server:
        assert names(server) == ["first"]
        slo.write_text(GOOD.format(name="second"))
        wait_for(lambda: names(server) == ["second"], 180)
        assert reasons(server) == (200, [])
        slo.write_text("objectives:\n  - {nam: third, ttft: 1, tpot: 1}\n")
        status, (reason,) = wait_for(lambda: (found := reasons(server))[1] and found, 180)
        assert status == 200
        assert "unknown key 'nam'; did you mean 'name'?" in reason
        assert names(server) == ["second"]
        assert server.metric("pdscope_slo_file_valid") == 0
    assert "slo file refused" in server.log.read_text()
