"""An adapter's requests wait behind those of its base model: what both do on their workers is read."""

import pytest

from analyzer.signals import write_signal_rules
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.verdict.diagnosis import diagnose
from analyzer.verdict.load import sharing_workers
from collector.engines import ADAPTERS
from collector.phases import Phase
from collector.store.store import Store
from tests.api.rows import NOON_NS, a_request, insert
from tests.signals import otlp

LONG_S, SHORT_S = 1.2, 0.1
UNTIL_NS = NOON_NS + 700 * 10**9


def _request(at: float, waited: float, computed: float, model: str, worker: str) -> dict[str, object]:
    """A request that waited for prefill, was computed, and had its first token then."""
    places = {"prefill_queue": (0.0, waited), "prefill_compute": (waited, waited + computed)}
    exposed = {phase: until - since for phase, (since, until) in places.items()}
    row = a_request(
        at, ttft=waited + computed, e2e=waited + computed + 1.0, exposed=exposed, own=exposed, model=model,
        prefill_worker=worker, decode_worker="for " + worker,
    )  # fmt: skip
    for side, column in enumerate(("phase_from_ns", "phase_until_ns")):
        for number, phase in enumerate(Phase):
            if phase in places:
                row[column][number] = round(places[phase][side] * 1e9)
    return row


@pytest.fixture
def shared(store: Store) -> Store:
    """One prefill worker, first come first served: an adapter's short prompts between long ones."""
    rows, free = [], 0.0
    for number in range(600):
        at, long = 1.0 * number, number % 2
        computed = LONG_S if long else SHORT_S
        waited = max(free - at, 0.001) + (3.0 if number > 20 else 0.0)
        free = max(free, at) + computed
        rows.append(_request(at, waited, computed, "base" if long else "adapter", "prefill-0"))
    rows += [_request(1.0 * number, 0.001, SHORT_S, "other", "prefill-9") for number in range(100)]
    insert(store, rows)
    return store


def test_models_are_found_by_the_workers_they_share(shared: Store) -> None:
    def beside(model: str) -> list[str]:
        return sharing_workers(shared, Scope(NOON_NS, UNTIL_NS, model=model))

    assert beside("adapter") == ["adapter", "base"] == beside("base")
    assert beside("other") == ["other"]
    assert beside("nobody's") == ["nobody's"]
    assert beside("") == []


def test_one_models_waits_are_explained_by_what_another_has_computed_there(shared: Store) -> None:
    asked = Objectives().override(1.0, 0.05, None)
    found = diagnose(shared, Scope(NOON_NS, UNTIL_NS, model="adapter"), asked, UNTIL_NS)
    assert found.counts.total == 300
    assert str(found.dominant) == "pool_imbalance.prefill_starved"
    assert len(found.situation.requests) == 600


def test_gauges_and_counters_of_models_that_share_workers_are_read_and_no_others(shared: Store) -> None:
    write_signal_rules(shared, ADAPTERS)
    noon = NOON_NS / 1e9 - otlp.T0
    for worker, model in (("prefill-0", "base"), ("prefill-9", "other")):
        depths = [otlp.number(noon + 10.0 * at, 3.0, model_name=model) for at in range(1, 60)]
        preempted = [
            otlp.number(noon + 10.0 * at, float(at), start=noon, model_name=model) for at in range(1, 60)
        ]
        shared.insert_metrics([
            otlp.body(
                worker,
                otlp.gauge("vllm:num_requests_waiting", *depths),
                otlp.counter("vllm:num_preemptions_total", *preempted),
                service="vllm",
            )
        ])  # fmt: skip
    asked = Objectives().override(1.0, 0.05, None)
    found = diagnose(shared, Scope(NOON_NS, UNTIL_NS, model="adapter"), asked, UNTIL_NS)
    loaded = found.situation.loaded
    told = {found.situation.name(int(code)) for code in loaded.readings.workers("queue_depth")}
    assert told == {"prefill-0"}
    assert {item.worker for item in loaded.increases if item.signal == "preemptions_total"} == {"prefill-0"}
