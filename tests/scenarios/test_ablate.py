"""Taking a signal away takes that signal away, and nothing else."""

from functools import cache

import numpy as np
import pytest

from .ablate import SIGNALS, Signal, present, without
from .otlp import Export
from .processes import Stage
from .scenario import scenario
from .telemetry import exports
from .test_telemetry import BASE, plain, points, spans

SHOWS = {  # signals that only some faults show
    "pd.kv.tokens_already_held": "redundant_prefix",
    "pd.local_prompt_tokens": "failed_loads",
    "pd.attempt": "retries",
}


@cache
def deployment_with(fault: str) -> list[Export]:
    return exports(Stage(scenario(9, 2, "one", (fault,)), BASE, "t0"))


@pytest.fixture(scope="module")
def sent() -> list[Export]:
    return deployment_with("little_kv")


def signature(sent: list[Export]) -> tuple[int, int, int, int]:
    found = spans(sent)
    said = sum(len(span.attributes) for _, span in found)
    return len(found), said, sum(len(span.events) for _, span in found), len(points(sent))


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.name)
def test_what_is_taken_away_is_gone(signal: Signal) -> None:
    sent = deployment_with(SHOWS.get(signal.which, "little_kv"))
    assert signal in present(sent)
    left = without(sent, signal, np.random.default_rng(1))
    assert [export.body for export in left] != [export.body for export in sent]
    if signal.kind not in ("process", "clock", "metrics"):
        assert signal not in present(left)
    before, after = signature(sent), signature(left)
    if signal.kind in ("metrics", "clock"):
        assert after[:3] == before[:3]
    if signal.kind != "metrics":
        assert after[3] == before[3]
    if signal.kind in ("attribute", "event", "clock"):
        assert after[0] == before[0]


def test_a_lost_process_takes_all_its_spans_with_it(sent: list[Export]) -> None:
    left = without(sent, Signal("process", "decode"), np.random.default_rng(1))

    def instances(sent: list[Export]) -> set[str]:
        return {resource["service.instance.id"] for resource, _ in spans(sent)}

    (gone,) = instances(sent) - instances(left)
    assert gone.startswith("decode")


def test_a_shifted_clock_moves_spans_events_and_leases_alike(sent: list[Export]) -> None:
    left = without(sent, Signal("clock", "prefill"), np.random.default_rng(1))
    moves = set()
    for (resource, before), (_, after) in zip(spans(sent), spans(left), strict=True):
        by = after.start_time_unix_nano - before.start_time_unix_nano
        if by:
            moves.add((resource["service.instance.id"], by))
            assert after.end_time_unix_nano - before.end_time_unix_nano == by
            lease = plain(before.attributes).get("pd.kv.lease_expires_unix_nano")
            if lease is not None:
                assert plain(after.attributes)["pd.kv.lease_expires_unix_nano"] - lease == by
    assert len(moves) == 1


def test_a_deployment_has_only_the_signals_it_has() -> None:
    colocated = exports(Stage(scenario(9, 2, "one", ("long_documents",)), BASE, "t0"))
    names = {signal.name for signal in present(colocated)}
    assert "phase:decode" in names
    assert not names & {"phase:kv_transfer", "metrics:prefill", "attribute:pd.kv.bytes", "process:decode"}
