"""What becomes of a request, by the convention's Accounting."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzer.slo.attainment import Attainment, attainments
from analyzer.slo.objectives import Objective, Objectives, Selector
from analyzer.slo.scope import Scope
from collector.store.store import Store
from tests.api.rows import NOON_NS, a_request, clear, insert
from tests.slo.oracle import account

HOUR = Scope(NOON_NS, NOON_NS + 3600 * 10**9)
ONE_SECOND = Objectives((Objective("all", ttft=1.0, tpot=0.05),))


def ask(store: Store, objectives: Objectives = ONE_SECOND, scope: Scope = HOUR) -> Attainment:
    return attainments(store, scope, objectives)[0]


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({}, {"evaluated": 1, "met": 1}),
        ({"ttft": 1.0}, {"evaluated": 1, "met": 1}),
        ({"ttft": 1.000000001}, {"evaluated": 1, "missed": 1}),
        ({"tpot": 0.0501}, {"evaluated": 1, "missed": 1}),
        ({"tpot": None, "output_tokens": 1}, {"evaluated": 1, "met": 1}),
        ({"outcome": "interrupted"}, {"evaluated": 1, "missed": 1, "errored": 1}),
        ({"outcome": "timeout", "censored": 1}, {"evaluated": 1, "missed": 1, "errored": 1}),
        ({"outcome": "error", "ttft": None}, {"evaluated": 1, "missed": 1, "errored": 1}),
        ({"outcome": "rejected", "ttft": None}, {"evaluated": 1, "missed": 1, "rejected": 1}),
        ({"output_tokens": 0}, {"evaluated": 1, "missed": 1, "errored": 1}),
        ({"finish_reason": "error"}, {"evaluated": 1, "missed": 1, "errored": 1}),
        ({"censored": 1, "ttft": 0.1}, {"evaluated": 1, "missed": 1}),
        ({"outcome": "cancelled"}, {"cancelled": 1}),
        ({"outcome": "invalid"}, {"invalid": 1}),
        ({"outcome": ""}, {"incomplete": 1}),
        ({"ttft": None}, {"incomplete": 1}),
    ],
)
def test_what_becomes_of_one_request(store: Store, given_: dict[str, Any], expected: dict[str, int]) -> None:
    insert(store, a_request(1, **given_))
    counted = {name: count for name, count in vars(ask(store).requests).items() if count}
    assert counted == {"total": 1, **expected}


def test_nothing_evaluated_is_not_measured_and_never_zero(store: Store) -> None:
    insert(store, a_request(1, outcome="cancelled"))
    answer = ask(store)
    assert (answer.ttft, answer.tpot, answer.joint, answer.budget_left) == (None, None, None, None)
    assert set(answer.burn_rates.values()) == {None}
    assert answer.goodput_rps == 0


def test_attainment_and_goodput_are_fractions_of_evaluated_and_of_time(store: Store) -> None:
    rows = [
        a_request(1),
        a_request(2),
        a_request(3, ttft=2),
        a_request(4, tpot=0.1),
        a_request(5, outcome="error"),
    ]
    insert(store, [*rows, a_request(6, outcome="cancelled")])
    answer = ask(store)
    assert (answer.ttft, answer.tpot, answer.joint) == (3 / 5, 3 / 5, 2 / 5)
    assert answer.goodput_rps == pytest.approx(2 / 3600)


def test_a_request_belongs_to_the_window_it_started_in(store: Store) -> None:
    insert(store, [a_request(-0.000000001), a_request(0), a_request(3599.999999999), a_request(3600)])
    assert ask(store).requests.total == 2


def test_the_newest_version_counts_and_tombstones_do_not(store: Store) -> None:
    insert(store, [a_request(1, name="a", outcome=""), a_request(1, name="b")])
    insert(store, [a_request(1, name="a", version=2), a_request(1, name="b", version=2, tombstone=1)])
    counts = ask(store).requests
    assert (counts.total, counts.met) == (1, 1)


def test_the_first_selector_that_matches_decides(store: Store) -> None:
    objectives = Objectives(
        (
            Objective("long", 9.0, 1.0, selector=Selector(input_bucket="16K+")),
            Objective("acme", 2.0, 1.0, selector=Selector(tenant="acme")),
            Objective("rest", 0.1, 1.0),
        )
    )
    insert(
        store,
        [
            a_request(1, tenant="acme", input_tokens=16384),
            a_request(2, tenant="acme", input_tokens=16383),
            a_request(3, tenant="acme", input_tokens=None),
            a_request(4),
        ],
    )
    answers = attainments(store, HOUR, objectives)
    assert [(answer.objective.name, answer.requests.total, answer.requests.met) for answer in answers] == [
        ("long", 1, 1),
        ("acme", 2, 2),
        ("rest", 1, 0),
    ]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ({"model": "qwen"}, 1),
        ({"worker": "prefill-0"}, 2),
        ({"worker": "decode-9"}, 1),
        ({"pool": "prefill"}, 2),
        ({"pool": "colocated"}, 0),
        ({"pool": "router"}, 3),
        ({"model": "' OR 1=1 --"}, 0),
    ],
)
def test_labels_narrow_the_question(store: Store, scope: dict[str, str], expected: int) -> None:
    insert(
        store,
        [a_request(1), a_request(2, model="qwen"), a_request(3, prefill_worker="", decode_worker="decode-9")],
    )
    asked = Scope(HOUR.from_ns, HOUR.to_ns, **scope)
    assert ask(store, scope=asked).requests.total == expected


LABELS = st.sampled_from(["", "a", "b", "o'hara\\"])
SELECTORS = st.builds(
    Selector, LABELS, LABELS, LABELS, st.sampled_from(["", "", "0-1K", "1-4K", "4-16K", "16K+"])
)
OUTCOMES = ["ok", "ok", "ok", "cancelled", "interrupted", "rejected", "invalid", "timeout", "error", ""]
ROWS = st.fixed_dictionaries(
    {
        "at": st.integers(0, 3599),
        "model": LABELS,
        "route": LABELS,
        "tenant": LABELS,
        "outcome": st.sampled_from(OUTCOMES),
        "finish_reason": st.sampled_from(["stop", "length", "error", ""]),
        "censored": st.sampled_from([0, 0, 0, 1]),
        "ttft": st.sampled_from([None, 0.0, 0.5, 1.0, 1.0000001, 7.0]),
        "tpot": st.sampled_from([None, 0.0, 0.05, 0.06]),
        "input_tokens": st.sampled_from([None, 0, 1023, 1024, 4095, 4096, 16383, 16384, 10**6]),
        "output_tokens": st.sampled_from([None, 0, 1, 2, 64]),
    }
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(ROWS, max_size=40),
    selectors=st.lists(SELECTORS, max_size=4),
    limits=st.tuples(st.sampled_from([0.5, 1.0]), st.sampled_from([0.05, 0.01])),
)
def test_sql_accounts_as_plain_python_does(
    store: Store, rows: list[dict[str, Any]], selectors: list[Selector], limits: tuple[float, float]
) -> None:
    clear(store)
    items = [Objective(f"o{number}", *limits, selector=item) for number, item in enumerate(selectors)]
    objectives = Objectives((*items, Objective("rest", 1.0, 0.05)))
    built = [a_request(**dict(row)) for row in rows]
    insert(store, built)
    expected = account(built, objectives)
    for answer in attainments(store, HOUR, objectives):
        counts, oracle = answer.requests, expected[answer.objective.name]
        for name in ("met", "missed", "cancelled", "invalid", "incomplete"):
            assert getattr(counts, name) == oracle[name], name
        assert counts.evaluated == oracle["met"] + oracle["missed"]
        assert counts.total == oracle.total()
