"""A day of mixed incidents, played at speed: simulated, from public reports, and recorded."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx

from analyzer.demo.scenarios.catalogue import SCENARIOS
from analyzer.demo.scenarios.spans import Stage
from tests.dashboards.programs import wait_for
from tests.demo.telling import tell
from tests.deploy.native import SECRETS, Native
from tests.paths import CAPTURES, CASES, SHARED

TOKEN = SECRETS["PDSCOPE_TOKEN"]
PATIENCE_S = 900
"""How long anything is waited for: on a busy machine a minute's work may take ten."""
TENANT = "alpha"
"""One of the tenants whose requests the simulated deployments serve."""
CHAT = "llama-70b"
"""The model of the objective that the README shows."""
HOURS_AGO = {
    "prefill-starved": 23,
    "slow-link": 20,
    "expired-lease": 14,
    "slow-readers": 11,
}
_BEFORE, _AFTER = "slow-handover", "healthy"
UNMEASURED = "prefill-starved"
"""Played once more, without the engines' metrics."""
_CASES = (
    "09-ucx-built-without-rdma",
    "44-router-hashes-on-one-core",
    "46-first-request-pays-the-connection",
)
_JUDGED_AFTER_S = 75
"""What is scraped keeps the store from ever being quiet: the replayer waits so long and judges then."""
RECORDED = {
    "vllm": "vllm-0.32.0/baseline/otlp_raw.tar.gz",
    "vllm, traced connector": "vllm-0.32.0/traced-connector/otlp_raw.tar.gz",
    "vllm, KV never claimed": "vllm-0.32.0/fault-b-orphaned-kv-decode-never-called/otlp.jsonl.gz",
    "dynamo": "dynamo-1.6.1/baseline-sync/otlp_traces.bin.gz",
    "dynamo, its own record": "dynamo-1.6.1/baseline-sync/reqtrace.jsonl.gz",
    "dynamo 1.4": "dynamo-1.4.2-mocker_pd-sequential/traces.jsonl.gz",
}
"""Captures of real deployments; among them one of each format that `pdscope import` reads."""


@dataclass(frozen=True)
class Incident:
    """What happened, where to ask about it, and the cause that is right."""

    name: str
    cause: str
    asked: dict[str, Any]
    requests: int


@dataclass(frozen=True)
class Collector:
    """Where telemetry is sent."""

    otlp_http: str


@dataclass
class Day:
    """What was played into a deployment."""

    native: Native
    tenant_token: str = ""
    """Opens what TENANT may see."""
    collectors: tuple[str, ...] = ("collector-1", "collector-2")
    """Those that are sent to, in turn."""
    incidents: list[Incident] = field(default_factory=list)
    cases: list[str] = field(default_factory=list)
    """What the replayer of cases said, line by line."""
    imported: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The report of each capture's import, by its name in RECORDED."""
    _sent: int = 0

    def get(self, path: str, analyzer: str = "analyzer-1", token: str = TOKEN, **asked: Any) -> Any:
        """Answer of a GET below /api/v1."""
        url = f"{self.native.url(analyzer, 8080)}/api/v1{path}"
        answer = httpx.get(url, params=asked, headers=bearer(token), timeout=PATIENCE_S)
        assert answer.status_code == 200, f"{url} {asked}: {answer.text}"
        return answer.json()

    def metric(self, service: str, start: str) -> float:
        """Sum of the metrics of a process whose lines start so."""
        text = self.native.get(service, 8080, "/metrics").text
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(start))

    def requests(self, **asked: Any) -> list[dict[str, Any]]:
        """All requests asked for, page by page; those of any time unless asked otherwise."""
        found: list[dict[str, Any]] = []
        more: dict[str, Any] = {"from": 0, "to": 4000000000, "limit": 1000, **asked}
        while True:
            page = self.get("/requests", **more)
            found += page["requests"]
            if not page["next_cursor"]:
                return found
            more["cursor"] = page["next_cursor"]

    def incident(self, name: str) -> Incident:
        """The incident of that name."""
        return next(found for found in self.incidents if found.name == name)

    def play(
        self,
        scenario: str,
        hours_ago: float = 0.0,
        name: str = "",
        model: str = "",
        cohort: str = "",
        metrics: bool = True,
    ) -> None:
        """Send a simulated incident as if it had been some hours ago, to one collector after the other."""
        name = name or scenario
        played = SCENARIOS[scenario]
        take = played.play(seed=1)
        base = time.time_ns() - round((take.ended_s + 3 + hours_ago * 3600) * 1e9)
        stage = Stage(take, model or f"sim-{name}", base, name, f"-{name}", cohort)
        self._sent += 1
        to = self.collectors[self._sent % len(self.collectors)]
        collector = Collector(self.native.url(to, 4318))
        since, until = tell(collector, stage, TOKEN, metrics)
        asked = {"from": since, "to": until, "model": stage.model, "ttft": played.ttft, "tpot": played.tpot}
        self.incidents.append(Incident(name, str(played.cause), asked, len(take.trips)))

    def replay_case(self, name: str) -> list[str]:
        """Play a case of a public report; how the replayer judges the answer, line by line."""
        command = [
            *(sys.executable, SHARED / "tools/replay_case.py", "run", CASES / f"{name}.json"),
            *("--seed", "7", "--wait", str(_JUDGED_AFTER_S), "--token", TOKEN),
            *("--otlp", self.native.url("collector-2", 4318)),
            *("--api", self.native.url("analyzer-2", 8080)),
        ]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        failed = [] if done.returncode in (0, 1) else [f"FAIL {done.stderr}"]
        return [f"{name}: {line}" for line in (*done.stdout.splitlines(), *failed)]

    def import_captures(self) -> None:
        """Load what real deployments sent."""
        for name, file in RECORDED.items():
            url = f"{self.native.url('analyzer-1', 8080)}/api/v1/import"
            content = (CAPTURES / file).read_bytes()
            answer = httpx.post(url, content=content, headers=bearer(), timeout=PATIENCE_S)
            assert answer.status_code == 200, f"{file}: {answer.text}"
            self.imported[name] = answer.json()

    def settle(self) -> None:
        """Wait until each incident's requests are there, whole."""
        for incident in self.incidents:
            wait_for(partial(self._is_in, incident), PATIENCE_S)

    def _is_in(self, incident: Incident) -> bool:
        # Not `settled`: what is scraped keeps the store from ever being quiet.
        counts = [found["requests"] for found in self.get("/slo", **incident.asked)["objectives"]]
        total, incomplete = (sum(found[name] for found in counts) for name in ("total", "incomplete"))
        return (total, incomplete) == (incident.requests, 0)


def bearer(token: str = TOKEN) -> dict[str, str]:
    """The header that lets a caller in."""
    return {"Authorization": f"Bearer {token}"}


def play_the_day(native: Native, tenant_token: str = "") -> Day:
    """Play all of it; returns once every answer is final."""
    day = Day(native, tenant_token)
    day.import_captures()
    for scenario, hours in HOURS_AGO.items():
        day.play(scenario, hours)
    day.play(_BEFORE, 5, "chat-before", CHAT, "before")
    day.play(_AFTER, 4, "chat-after", CHAT, "after")
    day.play(UNMEASURED, 2, "unmeasured", metrics=False)
    day.settle()
    with ThreadPoolExecutor(len(_CASES)) as pool:
        day.cases = [line for lines in pool.map(day.replay_case, _CASES) for line in lines]
    return day
