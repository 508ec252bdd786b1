"""What recorded runs are told as: the cause where their spans tell it, what is missing where they do not."""

from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.verdict.diagnosis import Diagnosis, diagnose
from analyzer.verdict.vocabulary import Cause

S = 10**9
SPAN = """
SELECT toUnixTimestamp64Nano(min(started_at)) AS first, toUnixTimestamp64Nano(max(started_at)) AS last
FROM requests FINAL WHERE tombstone = 0
"""


def told(store, assembled, name: str, ttft_s: float) -> Diagnosis:
    """The diagnosis of all requests of a capture, asked two minutes after the last began."""
    assembled(name)
    (span,) = store.rows(SPAN)
    scope = Scope(span["first"] - S, span["last"] + 120 * S)
    return diagnose(store, scope, Objectives().override(ttft_s, 1.0, None), scope.to_ns)


def shares(found: Diagnosis) -> dict[Cause, float]:
    return {answer.cause: answer.share for answer in found.causes}


def test_a_burst_of_long_prompts_starves_prefill_while_decode_has_room(store, assembled):
    found = told(store, assembled, "vllm/fault-d-prefill-saturated", ttft_s=20.0)
    assert found.dominant is Cause.PREFILL_STARVED
    assert shares(found)[Cause.PREFILL_STARVED] > 0.9


def test_a_stalled_decode_is_said_to_have_stood_still_and_is_no_slow_link(store, assembled):
    found = told(store, assembled, "vllm/traced-connector", ttft_s=10.0)
    assert found.dominant is Cause.INSUFFICIENT_EVIDENCE
    assert "lost their time while a worker stood still" in found.summary
    (still,) = (item.detail for item in found.findings if item.finding == "no_progress_while_healthy")
    assert "did nothing for" in still
    assert Cause.SLOW_LINK not in shares(found)
    assert shares(found).get(Cause.LINK_CONTENTION, 0.0) < 0.2
    assert "lease_too_short" in {item.finding for item in found.findings}


def test_a_stall_that_no_span_of_the_engine_tells_apart_is_not_explained(store, assembled):
    found = told(store, assembled, "vllm/fault-a1-client-disconnect-midstream", ttft_s=10.0)
    assert found.dominant is Cause.INSUFFICIENT_EVIDENCE
    assert found.counts.cancelled == 15
    assert {"no_transfers_observed", "abort_storm"} <= {item.finding for item in found.findings}
    # its own notes: decode stalled for 40 s
    (still,) = (item.detail for item in found.findings if item.finding == "no_progress_while_healthy")
    assert 38 < float(still.split(" did nothing for ")[1].split(" s ")[0]) < 46


def test_a_saturated_prefill_that_sends_no_phases_is_an_abstention_that_names_them(store, assembled):
    found = told(store, assembled, "dynamo/fault-prefill-saturated", ttft_s=0.1)
    assert found.dominant is Cause.INSUFFICIENT_EVIDENCE
    assert {"prefill_queue", "prefill_compute"} <= {item.signal for item in found.missing}


def test_clients_that_left_are_no_misses(store, assembled):
    found = told(store, assembled, "dynamo/fault-client-cancel", ttft_s=1.0)
    assert found.dominant is Cause.NONE
    assert found.counts.cancelled == 33
