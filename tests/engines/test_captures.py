"""Every capture, whole: no span unexplained, as many requests as clients sent, no duration that cannot be."""

from collections import Counter
from typing import Any

import pytest

from analyzer.assemble.oracle_spans import read_spans
from collector.store import Store
from tests.engines.assembled import assemble, bodies, plausible, unexplained
from tests.engines.client_truth import pair, seen
from tests.paths import CAPTURES

Row = dict[str, Any]

# Their traces carry the same made-up ids, so each is a store of its own; the others share one.
_ALONE = (
    "dynamo-1.4.2-mocker_pd-sequential", "ray-serve-2.60.0-pd-shape", "sglang-router-0.3.2_cb-default",
    "smg-1.13.0_cb-off", "vllm-router-0.1.17",
)  # fmt: skip
_FAMILIES = ("dynamo-1.6.1", "vllm-0.32.0")
_TRACES = ("otlp_traces.bin.gz", "traces.otlp.pb.gz", "otlp_raw.tar.gz")
"""One of these holds a capture's spans; beside it lie the same spans as JSON lines."""


def _captures() -> list[str]:
    found = [*_ALONE]
    for family in _FAMILIES:
        found += [f"{family}/{path.parent.name}" for path in (CAPTURES / family).glob("*/client.jsonl.gz")]
    return sorted({*found, "vllm-0.32.0/smoke"})


def exports_of(name: str) -> list[bytes]:
    """The OTLP bodies that importing a capture's spans and request traces stores."""
    capture = CAPTURES / name
    files = [path for name in _TRACES if (path := capture / name).exists()][:1]
    files += [path for path in [capture / "reqtrace.jsonl.gz"] if path.exists()]
    return [body for path in files for body in bodies(path)]


@pytest.fixture(scope="module")
def families(open_store: Store) -> list[Row]:
    """The requests of all captures whose trace ids are their own."""
    return assemble(
        open_store,
        [body for name in _captures() if name not in _ALONE for body in exports_of(name)],
    )


@pytest.fixture(scope="module")
def alone(open_store: Store) -> dict[str, list[Row]]:
    return {name: assemble(open_store, exports_of(name)) for name in _ALONE}


def _of(capture: str, families: list[Row], alone: dict[str, list[Row]]) -> list[Row]:
    """The requests of one capture."""
    if capture in alone:
        return alone[capture]
    traces = {span.trace_id for span in read_spans(exports_of(capture))}
    return [row for row in families if row["trace_id"] in traces]


@pytest.fixture(scope="module")
def requests(families: list[Row], alone: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """The requests of every capture by its name."""
    return {name: _of(name, families, alone) for name in _captures()}


@pytest.mark.parametrize("capture", _captures())
def test_every_span_is_read_by_a_rule_or_left_out_with_a_reason(capture):
    assert unexplained(exports_of(capture)) == {}


@pytest.mark.parametrize("capture", _captures())
def test_no_duration_is_negative_or_absurd(requests, capture):
    rows = requests[capture]

    assert rows
    assert [row["request_id"] for row in rows if not plausible(row)] == []


_WITH_CLIENTS = [name for name in _captures() if seen(CAPTURES / name)]

_UNSEEN = {
    "sglang-router-0.3.2_cb-default": (1, "the router never exported the span of the request decode failed"),
    "vllm-0.32.0/traced-connector": (1, "left 50 ms after it was sent, before the router traced it"),
}
"""Requests that clients sent and the capture has no span of."""

_UNRECORDED = {
    "sglang-router-0.3.2_cb-default": (1, "gave up before any header came, and kept no record"),
    "smg-1.13.0_cb-off": (1, "the same"),
    "vllm-router-0.1.17": (1, "the same"),
}
"""Requests in a capture that no client has a record of."""


@pytest.mark.parametrize("capture", _WITH_CLIENTS)
def test_each_request_a_client_sent_is_one_request(requests, capture):
    rows, clients = requests[capture], seen(CAPTURES / capture)

    pairs = pair(clients, rows)

    assert len(clients) - len(pairs) == _UNSEEN.get(capture, (0,))[0]
    assert len(rows) - len(pairs) == _UNRECORDED.get(capture, (0,))[0]


_AT_HEADERS = "a router's 200 is written with the headers: how the stream ended is not in its span"
_ENGINE_DONE = "the engine had made every token when the client left"

_UNTOLD: dict[str, dict[tuple[str, str], tuple[int, str]]] = {
    "sglang-router-0.3.2_cb-default": {("", "ok"): (5, _AT_HEADERS)},
    "smg-1.13.0_cb-off": {("", "ok"): (7, _AT_HEADERS), ("", "cancelled"): (1, _AT_HEADERS)},
    "vllm-router-0.1.17": {("", "ok"): (6, _AT_HEADERS), ("", "cancelled"): (1, _AT_HEADERS)},
    "dynamo-1.6.1/otel-disabled-jsonl-only": {
        ("", "ok"): (6, "a request trace has no outcome"),
        ("", "cancelled"): (4, "a request trace has no outcome"),
    },
    "vllm-0.32.0/fault-a1-client-disconnect-midstream": {("ok", "cancelled"): (5, _ENGINE_DONE)},
    "vllm-0.32.0/fault-b-orphaned-kv-decode-never-called": {
        ("", "ok"): (14, "sent to the engines by hand: no router, so no request span")
    },
}
"""By capture, (outcome in the telemetry, at the client) → how many, and why the telemetry cannot tell."""


@pytest.mark.parametrize("capture", _WITH_CLIENTS)
def test_outcomes_are_the_clients_as_far_as_the_telemetry_can_tell(requests, capture):
    pairs = pair(seen(CAPTURES / capture), requests[capture])

    differ = Counter((str(row["outcome"]), client.outcome) for client, row in pairs)
    for same in [outcome for outcome in differ if outcome[0] == outcome[1]]:
        del differ[same]
    assert differ == {told: count for told, (count, _) in _UNTOLD.get(capture, {}).items()}
