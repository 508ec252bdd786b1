"""Last of all: what the README says of processes that die. These tests leave some of them dead."""

import signal

import pytest

from tests.dashboards.programs import wait_for
from tests.system.conftest import Scraped
from tests.system.day import PATIENCE_S, Day


@pytest.mark.promise("when one dies the others take its work over")
def test_one_dies(day: Day, workers: Scraped) -> None:
    """kill -9 for a collector and an analyzer; the others scrape all targets and judge a new incident"""
    for name in ("collector-2", "analyzer-1"):
        day.native.programs[name].process.send_signal(signal.SIGKILL)
    left = Day(day.native, collectors=("collector-1",))
    left.play("small-blocks")
    (incident,) = left.incidents

    def known() -> bool:
        found = left.get("/diagnosis", "analyzer-2", **incident.asked)
        return (found["requests"]["total"], found["dominant_cause"]) == (incident.requests, incident.cause)

    wait_for(known, PATIENCE_S)
    wait_for(
        lambda: left.metric("collector-1", "pdscope_scrape_targets{") == len(workers.addresses), PATIENCE_S
    )
