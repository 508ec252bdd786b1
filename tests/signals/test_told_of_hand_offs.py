"""What metrics of hand-offs tell a verdict: those that stand at 0, and gauges of the last transfer."""

import pytest

from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.verdict.load import LastTransfers, Loaded, Silent, load
from collector.receive.commit import commit
from collector.store import Store
from tests.signals.otlp import body, gauge, ns, number

LATENCY = "sglang:kv_transfer_latency_ms"


def told(store: Store, model: str, *values: float, metric: str = LATENCY) -> Loaded:
    points = [number(10 * at, value, model_name=model) for at, value in enumerate(values)]
    assert commit(store, [body(f"of-{model}", gauge(metric, *points))], True) == [{}]
    return load(store, Scope(ns(0) - 1, ns(100), model), Objectives())


def test_a_gauge_of_the_last_transfer_is_read_from_the_first_transfer_on(store: Store) -> None:
    loaded = told(store, "old", 0.0, 20.0, 40.0, 30.0, 30.0)
    assert loaded.last_transfers == [LastTransfers(LATENCY, "", 5, 30.0, 40.0)]
    assert loaded.silent == []


def test_one_that_never_moves_is_silent(store: Store) -> None:
    loaded = told(store, "dead", 0.0, 0.0, 0.0, 0.0)
    assert loaded.silent == [Silent(LATENCY, "of-dead", 4)]
    assert loaded.last_transfers == []


@pytest.mark.parametrize(
    "metric",
    [
        "vllm:nixl_num_notifications_after_expiry_total",
        "vllm:nixl_num_kv_expired_reqs_total",
        "vllm:nixl_num_failed_transfers_total",
    ],
)
def test_a_count_of_what_went_wrong_is_not_silent_for_nothing_did(store: Store, metric: str) -> None:
    assert told(store, "well", 0.0, 0.0, 0.0, 0.0, metric=metric).silent == []
