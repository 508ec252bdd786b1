"""Error budget and burn rates against values worked out by hand."""

import pytest

from analyzer.slo.attainment import attainments, burn_rate
from analyzer.slo.objectives import Objective, Objectives
from analyzer.slo.scope import Scope
from collector.store.store import Store
from tests.api.rows import NOON_NS, a_request, insert

SECOND = 10**9


@pytest.mark.parametrize(
    ("counts", "target", "expected"),
    [
        ((1000, 10), 0.99, 1.0),
        ((1000, 0), 0.99, 0.0),
        ((1000, 144), 0.99, 14.4),
        ((10, 10), 0.9, 10.0),
        ((0, 0), 0.99, None),
        (None, 0.99, None),
    ],
)
def test_burn_rate(counts: tuple[int, int] | None, target: float, expected: float | None) -> None:
    assert burn_rate(counts, target) == expected


def test_windows_end_with_the_question_and_hold_the_shorter_ones(store: Store) -> None:
    # Requests (missed) in the last 5m: 2 (1), 30m: 4 (1), 1h: 5 (2), 2h: 6 (2), 6h: 8 (3), 3d: 10 (5).
    missed = [10, 3000, 20000, 200000, 200001]
    met = [20, 400, 1700, 7000, 21000]
    insert(store, [a_request(-at, ttft=9) for at in missed] + [a_request(-at) for at in met])
    objectives = Objectives((Objective("all", 1.0, 1.0, target=0.9),))
    answer = attainments(store, Scope(NOON_NS - 60 * SECOND, NOON_NS), objectives)[0]
    assert answer.burn_rates == {
        "5m": pytest.approx(1 / 2 / 0.1),
        "30m": pytest.approx(1 / 4 / 0.1),
        "1h": pytest.approx(2 / 5 / 0.1),
        "2h": pytest.approx(2 / 6 / 0.1),
        "6h": pytest.approx(3 / 8 / 0.1),
        "1d": pytest.approx(3 / 8 / 0.1),
        "3d": pytest.approx(5 / 10 / 0.1),
    }


def test_budget_left_is_of_the_objectives_own_period(store: Store) -> None:
    day = 86400
    rows = [a_request(-at * day, ttft=9) for at in (0.5, 1.5)] + [
        a_request(-0.1 - number / 1000) for number in range(98)
    ]
    insert(store, rows)
    objectives = Objectives(
        (
            Objective(
                "one day", 1.0, 1.0, target=0.95, period_days=1, selector=Objective("x", 1, 1).selector
            ),
            Objective("unused", 1.0, 1.0),
        )
    )
    one_day = attainments(store, Scope(NOON_NS - SECOND, NOON_NS), objectives)[0]
    # 99 requests in the day, 1 missed, 4.95 allowed.
    assert one_day.budget_left == pytest.approx(1 - 1 / 4.95)
    longer = Objectives((Objective("two days", 1.0, 1.0, target=0.95, period_days=2),))
    two_days = attainments(store, Scope(NOON_NS - SECOND, NOON_NS), longer)[0]
    assert two_days.budget_left == pytest.approx(1 - 2 / 5)


def test_an_overspent_budget_is_negative(store: Store) -> None:
    insert(store, [a_request(-1, ttft=9), a_request(-2)])
    objectives = Objectives((Objective("all", 1.0, 1.0, target=0.9),))
    answer = attainments(store, Scope(NOON_NS - 60 * SECOND, NOON_NS), objectives)[0]
    assert answer.budget_left == pytest.approx(1 - 5)
