"""A simulation that nobody waits for any longer ends where it is, also in other processes."""

import multiprocessing
import signal
import threading
import time
from dataclasses import replace
from multiprocessing.process import BaseProcess

import pytest

from analyzer.api.plan_jobs import Job, Planner, Report
from analyzer.plan import stopping
from analyzer.plan.evaluate import Contract, grid
from analyzer.plan.layout import parse_layout
from analyzer.plan.simulate import simulate
from analyzer.plan.stopping import Stopped, stoppable
from analyzer.plan.sweep import sweep
from analyzer.plan.workload import Synthetic, Workload
from tests.plan.reference import EXACT

LEASED = replace(EXACT, lease_s=480.0)


@pytest.fixture
def workload(monkeypatch: pytest.MonkeyPatch) -> Workload:
    monkeypatch.setattr(stopping, "OFTEN", 100)
    return Synthetic(8, until_s=60).draw()


@pytest.mark.parametrize("layout", ["1x512", "1P+1D"])
@pytest.mark.parametrize("settings", [EXACT, LEASED], ids=["one after the other", "on one clock"])
def test_it_ends_at_the_look_that_says_so(workload: Workload, layout: str, settings: object) -> None:
    looks: list[int] = []

    def asked() -> bool:
        looks.append(len(looks))
        return len(looks) == 3

    with pytest.raises(Stopped), stoppable(asked):
        simulate(workload, parse_layout(layout), settings)
    assert len(looks) == 3


def test_it_is_asked_in_the_thread_that_said_so_alone(workload: Workload) -> None:
    done = threading.Event()

    def other() -> None:
        simulate(workload, parse_layout("1P+1D"), EXACT)
        done.set()

    with stoppable(lambda: True):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert done.is_set()


def test_processes_under_way_are_ended_and_not_waited_for() -> None:
    """Each would simulate for minutes."""
    before = set(multiprocessing.active_children())
    started: set[BaseProcess] = set()

    def asked() -> bool:
        started.update(set(multiprocessing.active_children()) - before)
        return len(started) == 2

    endless = [Synthetic(60, until_s=6000).draw()]
    with pytest.raises(Stopped), stoppable(asked):
        sweep(endless, grid(4, (512,)), EXACT, Contract(), processes=2)
    for process in started:
        # the pool waits for its processes, too; whoever comes second learns the exit code a moment later
        until = time.monotonic() + 60
        while process.exitcode is None and time.monotonic() < until:
            time.sleep(0.01)
        assert process.exitcode == -signal.SIGTERM


def test_a_planner_that_stops_gives_up_the_simulation_under_way() -> None:
    began = threading.Event()

    def work(_: Job, report: Report) -> dict[str, object]:
        endless = Synthetic(60, until_s=6000).draw()
        began.set()
        while True:
            simulate(endless, parse_layout("1P+1D"), EXACT)

    planner = Planner(None)
    job = planner.submit("what-if", {}, work)
    assert began.wait(60)
    planner.stop()
    assert (job.state, job.error) == ("failed", "the process ended before the plan was done")
    assert planner._thread is not None
    assert not planner._thread.is_alive()
