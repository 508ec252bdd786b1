"""Every command of the pages is run, or named below with what it would need."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, RUNBOOKS, name, shell_lines
from tests.docs.workspace import Workspace, workspace

pytestmark = pytest.mark.timeout(900)

NOT_RUN = {
    "make test": "it runs this test",
    "make demo": "it sets an environment up from a package index, then runs `pdscope demo`",
    "pdscope demo": "tests/integration runs it, tests/packaging from the wheel",
    "OTEL_SERVICE_NAME=vllm-": "needs vLLM and a model",
    "docker ": "needs a Docker engine; tests/deploy runs what it would start",
    "kubectl ": "needs a cluster; tests/deploy checks the manifests",
    "curl -s --request POST http://127.0.0.1:9090": "needs the Prometheus of docker-compose.yml",
    "GRAFANA_TOKEN=": "needs a Grafana; tests/dashboards pushes to its API",
    "pdscope serve --json --data DIR": "serves until it is ended; tests/integration starts it so",
    "python replay_case.py": "the incidents and the tool that plays them are kept apart from this project",
    "python -m tests.scenarios.incidents": "needs that tool's results; tests/scenarios writes a small one",
    "python -m tests.scenarios.run": "takes an hour; tests/scenarios runs it on a few scenarios",
    "python -m tests.scenarios.accuracy": "needs that hour's result; tests/scenarios writes a small one",
    "curl -s 'http://127.0.0.1:8080/api/v1/compare": "needs two cohorts; tests/compare asks over REST",
    "pdscope gate ": "needs two cohorts and a plan; tests/gate runs it",
    "pdscope compare ": "needs two cohorts, or two windows; tests/compare runs it",
    "pdscope replay ": "needs an endpoint that serves a model; tests/replay runs it",
    "jq -n --slurpfile plan": "needs two cohorts and a plan; tests/gate posts one",
    "pdscope journal replay --file FILE": "needs a damaged journal; tests/receive replays one",
}
"""Beginnings of commands that are not run here, and why."""

EXIT_CODES = {"pdscope plan size": {0, 1}, "pdscope doctor": {0, 1}}
"""What else than 0 a page says may come out."""

LONG = ("docs/planning.md",)
"""Pages whose commands take long: they run with `-m long`."""

TYPED = {page: shell_lines(page) for page in [*PAGES, *RUNBOOKS] if shell_lines(page)}


def runs(line: str) -> bool:
    return not line.startswith(tuple(NOT_RUN))


def _marked(page: Path) -> object:
    marks = [pytest.mark.long] if name(page) in LONG else []
    return pytest.param(page, id=name(page), marks=marks)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with workspace(tmp_path_factory.mktemp("reader")) as made:
        yield made


@pytest.mark.parametrize("page", [_marked(page) for page in TYPED if any(map(runs, TYPED[page]))])
def test_the_commands_of_a_page_do_what_it_says(page: Path, reader: Workspace) -> None:
    for line in filter(runs, TYPED[page]):
        done = reader.run(line)
        allowed = next((codes for start, codes in EXIT_CODES.items() if line.startswith(start)), {0})
        assert done.returncode in allowed, f"{line}\n{done.stdout}{done.stderr}"
        if line.startswith("curl") and "/api/v1" in line and "text/csv" not in line:
            answer = json.loads(done.stdout)
            assert bool(answer.get("error")) == ("yesterday" in line), f"{line}\n{answer}"


def test_what_is_not_run_is_still_there() -> None:
    lines = [line for typed in TYPED.values() for line in typed]
    assert [start for start in NOT_RUN if not any(line.startswith(start) for line in lines)] == []


def test_a_command_that_fails_is_told(reader: Workspace) -> None:
    assert reader.run("pdscope report --from yesterday").returncode != 0
    assert reader.run("pdscope serve --api nowhere").returncode != 0
