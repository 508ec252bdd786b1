"""What live tests share: a folder for the run, a running pdscope, and a report of what was seen."""

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.running import Server, serving
from tests.live.known import Known
from tests.live.processes import give_way
from tests.live.report import Report
from tests.live.set_up import HOME


@pytest.fixture(scope="session")
def folder() -> Path:
    """Where logs, data and the report of this run lie."""
    made = HOME / "runs" / f"{datetime.datetime.now(datetime.UTC):%Y%m%d-%H%M%S}"
    made.mkdir(parents=True)
    return made


@pytest.fixture(scope="session")
def report(folder: Path) -> Iterator[Report]:
    """What was seen, printed as it comes and kept in `report.md`."""
    made = Report(folder / "report.md")
    yield made
    print(f"\nkept in {made.path}")


@pytest.fixture(scope="module")
def server(folder: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    """`pdscope serve`, one for each serving system."""
    data = folder / f"{request.module.__name__.rpartition('.')[2]}-data"
    with serving(data, "--clickhouse-http", "127.0.0.1:0") as running:
        give_way(running.process.pid, 5)
        yield running


@pytest.fixture(scope="module")
def known(server: Server) -> Known:
    """What it knows of requests."""
    return Known(server.clickhouse_http)
