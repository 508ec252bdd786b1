"""Requests, tokens and network bytes per accelerator-hour and per good request, each with how it is known."""

from typing import Any

import pytest

from analyzer.slo.attainment import attainments
from analyzer.slo.efficiency import Efficiency
from analyzer.slo.measured import Measured
from analyzer.slo.objectives import Objective, Objectives
from analyzer.slo.scope import Scope
from collector.store.store import Store
from tests.api.rows import NOON_NS, a_hand_off, a_request, insert, insert_hand_offs, workers_say

HOUR = Scope(NOON_NS, NOON_NS + 3600 * 10**9)
ONE_SECOND = Objectives((Objective("all", ttft=1.0, tpot=0.05),))


def ask(store: Store, gpus: float | None = None) -> Efficiency:
    return attainments(store, HOUR, ONE_SECOND, gpus)[0].efficiency


def test_gpu_hours_need_every_worker_to_say_its_accelerators(store: Store) -> None:
    insert(store, [a_request(second, output_tokens=10) for second in range(6)])
    workers_say(store, {"prefill-0": 2})
    unknown = ask(store)
    workers_say(store, {"prefill-0": 2, "decode-0": 4})
    known = ask(store)
    assert (unknown.gpu_hours.value, unknown.per_gpu_hour["requests"].value) == (None, None)
    assert "1 of 2 workers do not say pd.gpus" in str(unknown.per_gpu_hour["requests"].reason)
    assert known.gpu_hours == Measured(6.0, "observed")
    assert (known.per_gpu_hour["requests"].value, known.per_gpu_hour["output_tokens"].value) == (1.0, 10.0)
    assert known.per_good_request["gpu_seconds"] == Measured(3600.0, "observed")


@pytest.mark.parametrize("said", [float("inf"), float("nan"), -8, 10**400])
def test_accelerators_that_no_machine_has_are_not_believed(store: Store, said: float) -> None:
    insert(store, [a_request(1)])
    workers_say(store, {"prefill-0": said, "decode-0": 4})
    found = ask(store).per_gpu_hour["requests"]
    assert (found.value, found.source) == (None, None)
    assert "1 of 2 workers do not say pd.gpus" in str(found.reason)


def test_a_worker_without_an_instance_is_known_by_its_service(store: Store) -> None:
    insert(store, [a_request(1, prefill_worker="vllm", decode_worker="vllm")])
    workers_say(store, {"": 8})
    assert ask(store).gpu_hours == Measured(8.0, "observed")


def test_supplied_accelerators_are_called_so(store: Store) -> None:
    insert(store, [a_request(1)])
    found = ask(store, gpus=4)
    assert found.gpu_hours == Measured(4.0, "supplied")
    assert found.per_gpu_hour["good_requests"] == Measured(0.25, "supplied")
    assert found.per_good_request["output_tokens"].source == "observed"


def test_a_good_request_is_charged_for_those_that_were_not(store: Store) -> None:
    rows = [a_request(1), a_request(2, ttft=9), a_request(3, outcome="cancelled")]
    insert(store, rows)
    insert_hand_offs(store, [a_hand_off(row) for row in rows])
    found = ask(store, gpus=1)
    assert found.per_good_request["network_bytes"] == Measured(3000.0, "observed")
    assert found.per_good_request["output_tokens"].value == 3 * 64
    assert found.per_good_request["requests"].value == 2
    assert found.per_gpu_hour["network_bytes"].value == 3000


@pytest.mark.parametrize(
    ("hand_off", "expected"),
    [
        ({}, Measured(1000.0, "observed")),
        ({"moved_ns": 0, "imported_ns": 5}, Measured(1000.0, "observed")),
        ({"bytes": None}, "no hand-off of 1 requests says"),
        ({"status": "failed"}, "no hand-off of 1 requests says"),
        ({"moved_ns": 0}, "no KV hand-off was seen"),
        ({"transport": "shm"}, "no KV hand-off was seen"),
        ({"status": "skipped"}, "no KV hand-off was seen"),
    ],
)
def test_what_a_hand_off_adds_to_the_network(
    store: Store, hand_off: dict[str, Any], expected: Measured | str
) -> None:
    row = a_request(1)
    insert(store, row)
    insert_hand_offs(store, [a_hand_off(row, **hand_off)])
    found = ask(store).network_bytes
    assert found == expected if isinstance(expected, Measured) else expected in str(found.reason)


def test_some_hand_offs_of_unknown_size_bound_the_bytes(store: Store) -> None:
    rows = [a_request(1), a_request(2), a_request(3)]
    insert(store, rows)
    insert_hand_offs(store, [a_hand_off(rows[0]), a_hand_off(rows[0], 2), a_hand_off(rows[1], bytes=None)])
    found = ask(store).network_bytes
    assert found == Measured(2000.0, "bounded", "2 requests have hand-offs of unknown size")


def test_requests_that_stay_on_one_worker_move_nothing(store: Store) -> None:
    insert(store, [a_request(1, prefill_worker="gpu-0", decode_worker="gpu-0")])
    assert ask(store).network_bytes.value == 0
    insert(store, [a_request(2, prefill_worker="", decode_worker="")])
    assert ask(store).network_bytes.value is None


def test_tokens_that_some_requests_do_not_say_are_bounded(store: Store) -> None:
    insert(store, [a_request(1, output_tokens=10), a_request(2, output_tokens=None)])
    found = ask(store, gpus=1)
    assert (found.per_gpu_hour["output_tokens"].value, found.per_gpu_hour["output_tokens"].source) == (
        10,
        "bounded",
    )
    assert found.per_gpu_hour["input_tokens"].source == "supplied"


def test_without_a_good_request_there_is_nothing_per_good_request(store: Store) -> None:
    insert(store, a_request(1, ttft=9))
    found = ask(store, gpus=1)
    assert {figure.reason for figure in found.per_good_request.values()} == {"no request met both objectives"}
    assert found.per_gpu_hour["good_requests"].value == 0


def test_a_quotient_is_known_as_badly_as_its_worse_half() -> None:
    at_least, given = Measured(6, "bounded", "some lack it"), Measured(2, "supplied")
    assert at_least.per(given) == Measured(3, "bounded", "some lack it")
    assert given.per(at_least).source == "bounded"
    assert Measured.unknown("why").per(given) == Measured.unknown("why")
    assert given.per(Measured(0, "observed")).value is None
