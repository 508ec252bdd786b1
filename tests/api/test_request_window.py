"""One request is judged by what is near it, and by more where little is; the verdict is the same."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

from analyzer.api import request_causes
from analyzer.api.request_causes import AROUND_NS, ENOUGH, NEAR_NS
from analyzer.slo.objectives import Objective, Objectives
from analyzer.slo.scope import Scope
from analyzer.verdict.desk import Desk
from analyzer.verdict.request_verdict import RequestVerdict
from collector.store.store import Store
from tests.api.rows import NOON_NS, a_request, insert, key_of

TIGHT = Objectives((Objective("fast", 1.0, 0.1),))
SLOW = {
    "name": "slow",
    "ttft": 3.0,
    "e2e": 4.0,
    "exposed": {"prefill_queue": 2.6, "prefill_compute": 0.3},
    "own": {"prefill_queue": 2.6, "prefill_compute": 0.3},
}


class Asked(Desk):
    """A desk that notes which windows it was asked about."""

    def __init__(self, store: Store):
        super().__init__(store, lambda: 1, lambda: 1, lambda: float("inf"), lambda: 1e9)
        self.scopes: list[Scope] = []

    def ask(self, scope: Scope, *rest: Any) -> Any:
        self.scopes.append(scope)
        return super().ask(scope, *rest)


def neighbours(many: int, reach_s: float, **given: Any) -> Iterator[dict[str, Any]]:
    """Requests that met, spread evenly over so much time to both sides of NOON."""
    usual = {"prefill_queue": 0.1, "prefill_compute": 0.3}
    for number in range(many):
        at = (number / many * 2 - 1) * reach_s
        yield a_request(at, ttft=0.5, exposed=usual, own=usual, **given)


def a_row(name: str, at: int, met: int | None) -> dict[str, Any]:
    """What is asked about a request that started `at` seconds after NOON."""
    workers = {"prefill_worker": "prefill-0", "decode_worker": "decode-0", "bucket": NOON_NS // 10**9}
    started = {"key": key_of(name).hex(), "started_ns": NOON_NS + at * 10**9}
    return {**workers, **started, "model": "llama", "met": met}


def judged(store: Store) -> tuple[RequestVerdict | None, Scope]:
    """The slow request's verdict and the window it came out of."""
    desk = Asked(store)
    verdict, _ = request_causes.verdict(store, desk, TIGHT, a_row("slow", 1, 0))
    (scope,) = desk.scopes
    return verdict, scope


def reach(scope: Scope) -> tuple[float, float]:
    """How far (seconds) a window reaches before and after NOON."""
    assert scope.model == "llama"
    return (NOON_NS - scope.from_ns) / 1e9, (scope.to_ns - NOON_NS) / 1e9


def test_a_busy_window_is_judged_by_five_minutes_around_and_a_quiet_one_by_fifteen(store: Store) -> None:
    slow = a_request(1.0, **SLOW)
    insert(store, [slow, *neighbours(ENOUGH, NEAR_NS / 1e9 - 1)])
    busy, near = judged(store)
    assert reach(near) == (300, 300)

    store.command("TRUNCATE TABLE requests")
    insert(store, [slow, *neighbours(ENOUGH // 2, NEAR_NS / 1e9 - 1)])
    quiet, around = judged(store)
    assert reach(around) == (900, 900)

    assert busy is not None
    assert quiet is not None
    assert busy.causes
    assert asdict(busy) == asdict(quiet)


@pytest.mark.parametrize(
    ("given", "reach_s"), [({"model": "other"}, 240.0), ({}, AROUND_NS / 1e9 - 1)], ids=["model", "far"]
)
def test_requests_of_another_model_and_those_farther_off_do_not_make_a_window_busy(
    store: Store, given: dict[str, Any], reach_s: float
) -> None:
    insert(store, [a_request(1.0, **SLOW), *neighbours(ENOUGH + 100, reach_s, **given)])
    _, scope = judged(store)
    assert reach(scope) == (900, 900)


def test_neighbours_share_a_window_that_holds_them_both(store: Store) -> None:
    insert(store, [a_request(at, name=f"r-{at}") for at in (0, 299)])
    desk = Asked(store)
    for at in (0, 299):
        assert request_causes.verdict(store, desk, TIGHT, a_row(f"r-{at}", at, None))[0] is None
    assert len(set(desk.scopes)) == 1
    assert reach(desk.scopes[0]) == (900, 900)
