# ruff: noqa: E501
"""Counted minutes say what counting the requests would have said."""

import random

import pytest

from analyzer.minutes import Minutes
from analyzer.minutes.due import BLOCK_S, LONGEST, Due
from analyzer.slo.attainment import attainments
from analyzer.slo.long_window import NotKept, long_attainment, long_latency
from analyzer.slo.objectives import Objective, Objectives, Selector
from analyzer.slo.scope import Scope
from analyzer.verdict.diagnosis import diagnose
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
def minutes(store: Store) -> Minutes:
    for table in (
        "objective_minutes_kept",
        "latency_minutes_kept",
        "cause_minutes",
        "request_causes_kept",
        "findings_kept",
        "rollup_progress",
    ):
        store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})
    return counter(store)


def counter(store: Store, objectives: Objectives = OBJECTIVES) -> Minutes:
    """Count as a process does that has just started."""
    newest = "SELECT max(version) FROM requests"
    return Minutes(store, lambda: objectives, lambda: int(store.query(newest)[0][0]))


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


def test_counts_equal_those_of_the_requests(store: Store, minutes: Minutes) -> None:
    insert(store, mixed(400))
    minutes.catch_up()
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


def test_percentiles_lie_within_one_percent_of_an_observed_value(store: Store, minutes: Minutes) -> None:
    insert(store, mixed(400))
    minutes.catch_up()
    found = long_latency(store, WINDOW)["ttft"]
    values = sorted(row[0] for row in store.query("SELECT ttft_ns / 1e9 FROM requests"))
    assert found.count == len(values)
    assert found.longest == pytest.approx(values[-1])
    for quantile, value in found.quantiles.items():
        rank = quantile * (len(values) - 1)
        near = values[max(int(rank) - 1, 0) : int(rank) + 3]
        assert min(abs(value - true) / true for true in near) < 0.01


def test_a_changed_request_makes_its_whole_minute_anew(store: Store, minutes: Minutes) -> None:
    slow = a_request(at=5, name="x", ttft=9.0, tenant="acme", cohort="before")
    insert(store, [slow, a_request(at=6, ttft=0.1), a_request(at=300, ttft=0.1, version=0)])
    assert minutes.catch_up() == 2
    insert(store, slow | {"version": 2, "ttft_ns": 100, "cohort": "after"})
    assert minutes.catch_up() == 2, "the five minutes after it are judged by what was around them"
    assert minutes.catch_up() == 0
    assert {item.objective: item.requests.met for item in long_attainment(store, WINDOW)} == {
        "strict": 1,
        "rest": 2,
    }
    groups = store.query("SELECT cohort, sum(total) FROM objective_minutes GROUP BY cohort ORDER BY cohort")
    assert groups == [("", 2), ("after", 1)]
    assert long_latency(store, WINDOW)["ttft"].count == 3


def test_a_minute_whose_requests_are_gone_counts_nothing(store: Store, minutes: Minutes) -> None:
    row = a_request(at=5, name="merged away")
    insert(store, row)
    minutes.catch_up()
    insert(store, row | {"version": 2, "tombstone": 1})
    minutes.catch_up()
    assert long_attainment(store, WINDOW) == []
    assert long_latency(store, WINDOW)["ttft"].count == 0


def test_doing_it_twice_or_from_the_start_changes_nothing(store: Store, minutes: Minutes) -> None:
    insert(store, mixed(100))
    minutes.catch_up()
    first = long_attainment(store, WINDOW)
    minutes.catch_up()
    store.command("TRUNCATE TABLE rollup_progress")
    minutes.catch_up()
    assert long_attainment(store, WINDOW) == first


def test_minutes_outlive_their_requests(store: Store, minutes: Minutes) -> None:
    insert(store, mixed(50))
    minutes.catch_up()
    before = long_attainment(store, WINDOW)
    store.command("TRUNCATE TABLE requests")
    minutes.catch_up()
    assert long_attainment(store, WINDOW) == before


def test_a_thirty_day_report_reads_as_many_rows_as_there_are_minutes_and_labels(
    store: Store, minutes: Minutes
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


def causes_of(store: Store) -> list[tuple[object, ...]]:
    return store.query(
        "SELECT minute, objective, tenant, input_bucket, cause, round(requests, 9), would_have_met "
        "FROM causes_by_minute ORDER BY ALL"
    )


def slow_prompts(count: int) -> list[dict[str, object]]:
    """Prompts whose own prefill takes longer than the objective allows, among short ones that meet it."""
    return [
        a_request(at=at, ttft=ttft, input_tokens=tokens, exposed={"prefill_compute": ttft}, own={"prefill_compute": ttft})
        for at, (ttft, tokens) in enumerate([(0.05 + n % 5 / 100, 500 + n % 7 * 20) if n % 3 else (4.0, 40_000) for n in range(count)])
    ]  # fmt: skip


def test_a_miss_counts_for_the_causes_that_the_diagnosis_names(store: Store, minutes: Minutes) -> None:
    insert(store, slow_prompts(90))
    minutes.catch_up()
    told = diagnose(store, Scope(NOON_NS, NOON_NS + 300 * 10**9), OBJECTIVES, NOON_NS + DAY_NS)
    shown: dict[str, float] = {}
    for row in causes_of(store):
        shown[str(row[4])] = shown.get(str(row[4]), 0.0) + float(str(row[5]))
    assert shown == pytest.approx({str(item.cause): item.requests for item in told.causes})
    assert shown["prefill_bound"] == 30
    assert {row[3] for row in causes_of(store)} == {"16K+"}
    single = store.query("SELECT cause, causes['prefill_bound'], met_without FROM request_causes")
    assert single == [("prefill_bound", 1.0, ["prefill_bound"])] * 30


def found(store: Store) -> dict[str, str]:
    return dict(store.query("SELECT finding, severity FROM findings_by_five_minutes"))


def test_findings_are_those_of_the_diagnosis_and_go_when_nothing_is_found_any_more(
    store: Store, minutes: Minutes
) -> None:
    quirk = {"notes": ["impossible_duration"], "outcome": "ok", "ttft": 0.1}
    rows = [a_request(at=float(n), **quirk) for n in range(40)]
    insert(store, rows)
    minutes.catch_up()
    told = diagnose(store, Scope(NOON_NS, NOON_NS + 300 * 10**9), OBJECTIVES, NOON_NS + DAY_NS)
    assert found(store) == {item.finding: item.severity for item in told.findings}
    assert "impossible_duration" in found(store)
    insert(store, [row | {"version": 2, "notes": []} for row in rows])
    minutes.catch_up()
    assert "impossible_duration" not in found(store)


def test_causes_and_counts_of_a_minute_are_of_one_moment(store: Store, minutes: Minutes) -> None:
    insert(store, mixed(300))
    minutes.catch_up()
    told = dict(
        store.query(
            "SELECT minute, sum(missed) FROM objective_minutes GROUP BY minute HAVING sum(missed) > 0"
        )
    )
    shown = dict(
        store.query("SELECT minute, round(sum(c.requests), 6) FROM causes_by_minute AS c GROUP BY minute")
    )
    assert shown == told


def test_a_late_change_replaces_the_causes_of_its_minute(store: Store, minutes: Minutes) -> None:
    rows = slow_prompts(9)
    insert(store, rows)
    minutes.catch_up()
    insert(store, [row | {"version": 2, "ttft_ns": 10**7} for row in rows])
    minutes.catch_up()
    assert causes_of(store) == []


def test_a_request_whose_start_moves_is_counted_once(store: Store, minutes: Minutes) -> None:
    """First seen by its engine's span, then with its router's, which began two minutes before."""
    row = a_request(at=130, name="moved", ttft=9.0)
    insert(store, row)
    minutes.catch_up()
    insert(store, row | {"version": 2, "started_at": NOON_NS + 10 * 10**9, "ttft_ns": 129 * 10**9})
    minutes.catch_up()
    assert store.query("SELECT toUnixTimestamp(minute), total FROM objective_minutes") == [
        (NOON_NS // 10**9, 1)
    ]
    assert sum(float(str(row[5])) for row in causes_of(store)) == 1


def test_what_a_process_left_uncounted_the_next_one_counts(
    store: Store, minutes: Minutes, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert(store, [a_request(at=at, ttft=9.0, version=at + 1) for at in range(0, 3600, 30)])
    counted, count = [], Minutes._count

    def dies(self: Minutes, block: int, upto: int) -> None:
        if len(counted) == 5:
            raise SystemExit
        counted.append(block)
        count(self, block, upto)

    with monkeypatch.context() as patch:
        patch.setattr(Minutes, "_count", dies)
        with pytest.raises(SystemExit):
            minutes.catch_up()
    assert counter(store).catch_up() == 12 - 5 + 1, "and the newest, which may have changed since"
    assert counter(store).catch_up() <= 1, "at most what changed last is done twice"
    assert store.query("SELECT sum(total), sum(missed) FROM objective_minutes") == [(120, 120)]


def test_a_changed_objective_judges_what_changes_from_then_on(store: Store, minutes: Minutes) -> None:
    insert(store, [a_request(at=5, ttft=1.0), a_request(at=905, ttft=1.0, version=2)])
    minutes.catch_up()
    insert(store, a_request(at=906, ttft=1.0, version=3))
    counter(store, OBJECTIVES.override(ttft=0.9)).catch_up()
    assert store.query("SELECT ttft_limit_seconds, sum(total), sum(missed) FROM objective_minutes GROUP BY 1 ORDER BY 1") == [
        (0.9, 2, 2),
        (2.0, 1, 0),
    ]  # fmt: skip


def test_live_traffic_does_not_starve_what_waits(store: Store) -> None:
    """Four blocks change all the time; the oldest still gets its turn."""
    due = Due(store, 0)
    due.failed(range(0, 100 * BLOCK_S, BLOCK_S))
    turns = 0
    while due and turns < 100:
        due.take()
        turns += 1
        if any(block < 96 * BLOCK_S for block in due._due):
            due.failed(range(96 * BLOCK_S, 100 * BLOCK_S, BLOCK_S))
    assert turns <= 2 + 96 // LONGEST


def newest_version(store: Store) -> int:
    return int(store.query("SELECT max(version) FROM objective_minutes_kept")[0][0])


def store_ms(store: Store) -> int:
    return int(store.query("SELECT toUnixTimestamp64Milli(now64(3))")[0][0])


def test_of_two_that_count_a_minute_at_once_the_one_that_began_later_is_right(
    store: Store, minutes: Minutes
) -> None:
    """One stands still after it read the requests; meanwhile another counts what has changed since."""
    slow = a_request(at=5, name="x", ttft=9.0)
    insert(store, slow)
    later: list[int] = []

    def objectives() -> Objectives:
        if not later:
            insert(store, slow | {"version": 2, "ttft_ns": 100})
            later.append(counter(store).catch_up())
            insert(store, slow | {"version": 3, "ttft_ns": 10**10})
        return OBJECTIVES

    Minutes(store, objectives, lambda: 1).turn()
    assert later[0]
    assert store.query("SELECT total, met, missed FROM objective_minutes") == [(1, 1, 0)]
    assert causes_of(store) == []


@pytest.mark.parametrize("ahead", ["small counters of earlier releases", "a clock that was put back"])
def test_a_new_count_is_newer_than_every_one_that_is_kept(store: Store, minutes: Minutes, ahead: str) -> None:
    slow = a_request(at=5, name="x", ttft=9.0)
    insert(store, slow)
    minutes.catch_up()
    version = 7 if ahead.startswith("small") else store_ms(store) + 3_600_000
    for table in ("objective_minutes_kept", "cause_minutes", "latency_minutes_kept"):
        asked = {"table": table, "version": version}
        again = "INSERT INTO {table:Identifier} SELECT * REPLACE ({version:UInt64} AS version) FROM {table:Identifier}"
        store.command(again, asked)
        store.command("DELETE FROM {table:Identifier} WHERE version != {version:UInt64}", asked)
    insert(store, slow | {"version": 2, "ttft_ns": 100})
    counter(store).catch_up()
    assert newest_version(store) > version
    assert store.query("SELECT total, met, missed FROM objective_minutes") == [(1, 1, 0)]
    assert causes_of(store) == []


def test_one_that_is_no_longer_wanted_stops_and_forgets_nothing(store: Store, minutes: Minutes) -> None:
    insert(store, [a_request(at=at, ttft=9.0, version=at + 1) for at in range(0, 3000, 300)])
    answers = iter([True, True, False])
    newest = "SELECT max(version) FROM requests"
    wanted = Minutes(
        store, lambda: OBJECTIVES, lambda: int(store.query(newest)[0][0]), lambda: next(answers, True)
    )
    assert wanted.turn() == 2
    assert store.query("SELECT sum(total) FROM objective_minutes") == [(2,)]
    assert wanted.catch_up() == 8
    assert store.query("SELECT sum(total) FROM objective_minutes") == [(10,)]
