import math
import time

import pytest

from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.telemetry import CheckUps
from analyzer.verdict.desk import Desk

HOUR = 3_600_000_000_000


@pytest.fixture
def check_ups(store):
    from analyzer.assemble.assembler import Assembler

    Assembler(store)
    return CheckUps(store, Desk(store, lambda: 0, lambda: 0, lambda: math.inf, lambda: 100.0))


def test_who_asks_again_for_the_hour_that_ends_now_gets_the_same_check_up(check_ups):
    # at the start of a step, so that both questions lie in it
    now = time.time_ns() // 5_000_000_000 * 5_000_000_000
    first = check_ups.ask(Scope(now - HOUR, now + 1), Objectives())
    assert check_ups.ask(Scope(now - HOUR + 10, now + 11, model="m"), Objectives()) is first


def test_another_window_is_another_check_up(check_ups):
    first = check_ups.ask(Scope(HOUR, 2 * HOUR), Objectives())
    assert check_ups.ask(Scope(HOUR, 3 * HOUR), Objectives()) is not first
