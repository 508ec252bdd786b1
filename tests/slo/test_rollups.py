# ruff: noqa: E501
"""Counted minutes say what counting the requests would have said."""

import random

import pytest

from analyzer.slo.attainment import attainments
from analyzer.slo.long_window import NotKept, long_attainment, long_latency
from analyzer.slo.objectives import Objective, Objectives, Selector
from analyzer.slo.rollups import Rollups
from analyzer.slo.scope import Scope
from collector.store import Store
from tests.api.rows import NOON_NS, a_request, insert, key_of

DAY_NS = 86_400_000_000_000
WINDOW = Scope(NOON_NS, NOON_NS + 30 * DAY_NS)
OBJECTIVES = Objectives(
    (
        Objective("strict", ttft=0.5, tpot=0.02, target=0.95, selector=Selector(tenant="acme")),
        Objective("rest", ttft=2.0, tpot=0.05),
    )
)


@pytest.fixture
def rollups(store: Store) -> Rollups:
    for table in ("objective_minutes_kept", "latency_minutes_kept", "rollup_progress"):
        store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})
    return Rollups(store, lambda: OBJECTIVES)


def mixed(count: int, seed: int = 7) -> list[dict[str, object]]:
    rng = random.Random(seed)
    outcomes = ["ok"] * 7 + ["error", "rejected", "cancelled", "invalid", "timeout", ""]
    return [
        a_request(
            at=rng.random() * 3600,
            ttft=rng.lognormvariate(-0.7, 1.2),
            tpot=rng.lognormvariate(-4, 0.8),
            tenant=rng.choice(["acme", "", "other"]),
            outcome=rng.choice(outcomes),
        )
        for _ in range(count)
    ]


def test_counts_equal_those_of_the_requests(store: Store, rollups: Rollups) -> None:
    insert(store, mixed(400))
    rollups.catch_up()
    counted = {item.objective: item for item in long_attainment(store, WINDOW)}
    direct = {item.objective.name: item for item in attainments(store, WINDOW, OBJECTIVES)}
    assert {name: item.requests for name, item in counted.items()} == {
        name: item.requests for name, item in direct.items()
    }
    assert sum(sum(item.causes.values()) for item in counted.values()) == sum(
        item.requests.missed for item in counted.values()
    )
    assert counted["strict"].ttft == 0.5
    assert counted["strict"].target == 0.95


def test_percentiles_lie_within_one_percent_of_an_observed_value(store: Store, rollups: Rollups) -> None:
    insert(store, mixed(400))
    rollups.catch_up()
    found = long_latency(store, WINDOW)["ttft"]
    values = sorted(row[0] for row in store.query("SELECT ttft_ns / 1e9 FROM requests"))
    assert found.count == len(values)
    assert found.longest == pytest.approx(values[-1])
    for quantile, value in found.quantiles.items():
        rank = quantile * (len(values) - 1)
        near = values[max(int(rank) - 1, 0) : int(rank) + 3]
        assert min(abs(value - true) / true for true in near) < 0.01


def test_a_changed_request_makes_its_whole_minute_anew(store: Store, rollups: Rollups) -> None:
    slow = a_request(at=5, name="x", ttft=9.0, tenant="acme", cohort="before")
    insert(store, [slow, a_request(at=6, ttft=0.1), a_request(at=300, ttft=0.1, version=0)])
    assert rollups.catch_up() == 2
    insert(store, slow | {"version": 2, "ttft_ns": 100, "cohort": "after"})
    assert rollups.catch_up() == 1
    assert {item.objective: item.requests.met for item in long_attainment(store, WINDOW)} == {
        "strict": 1,
        "rest": 2,
    }
    groups = store.query("SELECT cohort, sum(total) FROM objective_minutes GROUP BY cohort ORDER BY cohort")
    assert groups == [("", 2), ("after", 1)]
    assert long_latency(store, WINDOW)["ttft"].count == 3


def test_a_minute_whose_requests_are_gone_counts_nothing(store: Store, rollups: Rollups) -> None:
    row = a_request(at=5, name="merged away")
    insert(store, row)
    rollups.catch_up()
    insert(store, row | {"version": 2, "tombstone": 1})
    rollups.catch_up()
    assert long_attainment(store, WINDOW) == []
    assert long_latency(store, WINDOW)["ttft"].count == 0


def test_doing_it_twice_or_from_the_start_changes_nothing(store: Store, rollups: Rollups) -> None:
    insert(store, mixed(100))
    rollups.catch_up()
    first = long_attainment(store, WINDOW)
    rollups.catch_up()
    store.command("TRUNCATE TABLE rollup_progress")
    rollups.catch_up()
    assert long_attainment(store, WINDOW) == first


def test_minutes_outlive_their_requests(store: Store, rollups: Rollups) -> None:
    insert(store, mixed(50))
    rollups.catch_up()
    before = long_attainment(store, WINDOW)
    store.command("TRUNCATE TABLE requests")
    rollups.catch_up()
    assert long_attainment(store, WINDOW) == before


def test_a_thirty_day_report_reads_as_many_rows_as_there_are_minutes_and_labels(
    store: Store, rollups: Rollups
) -> None:
    """Eighty days of minutes are kept; thirty are read, whatever the number of requests behind them."""
    store.command(
        "INSERT INTO objective_minutes_kept (minute, objective, tenant, version, total, evaluated, met) "
        "SELECT toDateTime('2026-01-01 00:00:00', 'UTC') + 60 * intDiv(number, 4), 'rest', toString(number % 4), 1, "
        "1000, 1000, 990 FROM numbers(80 * 1440 * 4)"
    )
    start = NOON_NS - (NOON_NS % DAY_NS)
    scope = Scope(start - 30 * DAY_NS, start)
    plan = store.query(
        "EXPLAIN ESTIMATE SELECT sum(total) FROM objective_minutes WHERE minute >= toDateTime({a:UInt32}, 'UTC') "
        "AND minute < toDateTime({b:UInt32}, 'UTC')",
        {"a": scope.from_ns // 10**9, "b": scope.to_ns // 10**9},
    )
    assert long_attainment(store, scope)[0].requests.total == 30 * 1440 * 4 * 1000
    assert 30 * 1440 * 4 <= sum(row[3] for row in plan) < 1.2 * 30 * 1440 * 4 + 2 * 8192


def test_what_minutes_do_not_keep_is_refused(store: Store) -> None:
    with pytest.raises(NotKept, match="by worker or pool"):
        long_attainment(store, Scope(0, 1, worker=key_of("w").hex()))
