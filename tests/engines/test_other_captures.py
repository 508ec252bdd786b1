"""Captures as others would have taken them: other names, ids, order; a dead process; a clock that is off."""

from typing import Any

import pytest

from tests.engines.assembled import assemble, plausible, unexplained
from tests.engines.mutated import mutated, services, skewed, without
from tests.engines.test_captures import exports_of

Row = dict[str, Any]

CAPTURES = (
    "dynamo-1.4.2-mocker_pd-sequential",
    "dynamo-1.6.1/all-signals-lifecycle",
    "dynamo-1.6.1/fault-client-cancel",
    "dynamo-1.6.1/fault-decode-kill-mig0",
    "dynamo-1.6.1/fault-prefill-kill",
    "dynamo-1.6.1/router-default-roundrobin",
    "ray-serve-2.60.0-pd-shape",
    "sglang-router-0.3.2_cb-default",
    "smg-1.13.0_cb-off",
    "vllm-0.32.0/fault-a1-client-disconnect-midstream",
    "vllm-0.32.0/traced-connector",
    "vllm-router-0.1.17",
)
OF_SEVERAL_PROCESSES = (
    "dynamo-1.4.2-mocker_pd-sequential",
    "dynamo-1.6.1/router-default-roundrobin",
    "ray-serve-2.60.0-pd-shape",
    "vllm-0.32.0/fault-a1-client-disconnect-midstream",
    "vllm-router-0.1.17",
)
SAME = (
    *("outcome", "ttft_ns", "e2e_ns", "exposed_ns", "phase_ns", "attempts", "input_tokens", "output_tokens"),
    *("complete", "spans", "censored", "notes", "ttft_source", "system", "model", "composites"),
)
"""What names, ids and order have no say in."""


def told(rows: list[Row]) -> list[tuple[object, ...]]:
    return sorted((tuple(row[name] for name in ("started_at", *SAME)) for row in rows), key=repr)


@pytest.mark.parametrize("capture", CAPTURES)
def test_names_ids_order_and_copies_change_nothing(open_store, capture):
    sent = exports_of(capture)
    other = mutated(sent, seed=len(capture))

    assert unexplained(other) == {}
    assert told(assemble(open_store, other)) == told(assemble(open_store, sent))


@pytest.mark.parametrize("capture", OF_SEVERAL_PROCESSES)
def test_a_process_that_died_with_its_spans_or_whose_clock_is_off_makes_no_request_and_nothing_absurd(
    open_store, capture
):
    sent = exports_of(capture)
    whole = len(assemble(open_store, sent))

    for service in services(sent):
        for changed in (without(sent, service), skewed(sent, service, 3 * 10**9)):
            rows = assemble(open_store, changed)
            assert unexplained(changed) == {}
            assert len(rows) <= whole
            assert [row["request_id"] for row in rows if not plausible(row)] == []
