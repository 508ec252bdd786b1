"""How much of what came before a window is read with it."""

import pytest

from analyzer.slo.scope import Scope
from analyzer.verdict import load
from analyzer.verdict.load import CONTEXT_NS, context_from
from collector.store.store import Store
from tests.api.rows import NOON_NS, a_request, insert

MINUTE_NS = 60 * 10**9
FROM_NS = NOON_NS + 20 * MINUTE_NS


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "CONTEXT_REQUESTS", 25)


def _ten_a_minute(store: Store, lasting_s: float) -> None:
    insert(store, [a_request(6 * n, e2e=lasting_s, model="busy") for n in range(200)])


def _minutes(store: Store, model: str = "") -> float:
    scope = Scope(FROM_NS, FROM_NS + MINUTE_NS, model=model)
    return (FROM_NS - context_from(store, scope, [model] if model else [])) / MINUTE_NS


def test_a_busy_system_is_read_back_to_as_many_requests_as_tell_its_state(store: Store) -> None:
    _ten_a_minute(store, lasting_s=10)
    assert _minutes(store) == 3


def test_further_where_requests_last_long_since_those_are_still_under_way(store: Store) -> None:
    _ten_a_minute(store, lasting_s=100)
    assert _minutes(store) == 5


def test_never_more_than_a_quarter_of_an_hour(store: Store) -> None:
    _ten_a_minute(store, lasting_s=1000)
    assert _minutes(store) * MINUTE_NS == CONTEXT_NS


def test_a_quiet_model_beside_it_keeps_its_quarter_of_an_hour(store: Store) -> None:
    _ten_a_minute(store, lasting_s=10)
    insert(store, a_request(900, model="quiet"))
    assert _minutes(store, "quiet") * MINUTE_NS == CONTEXT_NS
    assert _minutes(store, "busy") == 3
