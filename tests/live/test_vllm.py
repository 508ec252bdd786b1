"""Real vLLM in P/D mode (NIXL over loopback), its router, the tap and the traced connector: the whole story.

The tests run in this order and share one stack: a fault's test leaves it whole for the next.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.live import scenes
from tests.live.client import Seen
from tests.live.figures import agreement
from tests.live.known import whole
from tests.live.processes import children
from tests.live.set_up import VLLM
from tests.live.vllm_stack import LEASE_S, VllmStack

pytestmark = [pytest.mark.live, pytest.mark.timeout(2400)]

REQUESTS = 200
PER_S = 1.4
ROUNDS = 3
PHASES = (
    *("router_queue", "prefill_queue", "prefill_compute", "kv_publish", "decode_queue", "kv_transfer"),
    *("kv_import", "first_decode_step", "decode"),
)
# a block is 32 tokens of keys and values of 4 layers with 2 heads of 64, in bfloat16
BLOCK, BYTES_PER_BLOCK = 32, 32 * 2 * 4 * 2 * 64 * 2


@pytest.fixture(scope="module")
def stack(server, folder, report) -> Iterator[VllmStack]:
    if why := VLLM.why_skipped():
        pytest.skip(why)
    here = folder / "vllm"
    here.mkdir()
    report.heading("vLLM 0.32.0 (CPU), NIXL 1.5.1 over loopback, vllm-router 0.1.17, tap, traced connector")
    with children() as started:
        made = VllmStack(server, here, started)
        made.start()
        scenes.ordinary(made, 5, 1.0, 99)
        if made.timed_first:
            report.line("client and tap run before everything else (SCHED_RR)")
        yield made


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether a condition came to hold in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(1)
    return True


def is_whole(row: dict[str, Any]) -> bool:
    """Whether the tap's own span and every phase are there: they come from four processes, in any order."""
    return bool(row["is_complete"]) and whole(row, PHASES)


def outcomes(rows: dict[str, dict[str, Any]], seen: list[Seen]) -> Counter[str]:
    return Counter(str(rows[one.trace_id]["outcome"]) if one.trace_id in rows else "unseen" for one in seen)


def test_every_streamed_request_is_whole_and_timed_as_its_client_saw_it(stack, server, known, report):
    """A round in which the harness itself lagged too much to judge is played again, twice at most."""
    report.heading("vLLM: streaming requests")
    faults = ["not played"]
    for number in range(ROUNDS):
        scene = scenes.ordinary(stack, REQUESTS, PER_S, number)
        assert [one.error for one in scene.seen if not one.completed] == []
        rows = known.once(scene.seen, is_whole)
        lacking = {
            one.request_id: sorted(set(PHASES) - set(rows.get(one.trace_id, {}).get("phases", ())))
            for one in scene.seen
            if one.trace_id not in rows or not is_whole(rows[one.trace_id])
        }
        whole_now = REQUESTS - len(lacking)
        report.line(
            f"{whole_now} of {REQUESTS} completed requests have every phase, each joined in one request"
        )
        assert lacking == {}
        check_facts(stack, rows, scene.seen)
        found = agreement(
            [
                (rows[one.trace_id]["ttft"], one.ttft_s, scene.lag.of(one.sent_ns, one.first_token_ns or 0))
                for one in scene.seen
            ]
        )
        report.line(found.line)
        faults = found.faults(median_ms=10, p95_ms=60)
        for fault in faults:
            report.line(fault)
        if not any("NOT JUDGED" in fault for fault in faults):
            break
    assert faults == []


def check_facts(stack: VllmStack, rows: dict[str, dict[str, Any]], seen: list[Seen]) -> None:
    """Each request is one, ended well, and says of itself what its client knows."""
    for one in seen:
        row = rows[one.trace_id]
        assert (row["system"], row["outcome"], row["is_complete"]) == ("vllm", "ok", True)
        assert row["client_request_id"] == one.request_id
        assert (row["input_tokens"], row["output_tokens"]) == (one.input_tokens, one.output_tokens)
        assert (row["prefill_worker"], row["decode_worker"]) == (stack.name("prefill"), stack.name("decode"))
        assert sum(row["exposed"].values()) == pytest.approx(row["ttft"], abs=1e-8)
    assert len({row["key"] for row in rows.values()}) == len(seen)


def test_clients_that_leave_mid_stream_are_counted_apart(stack, server, known, report):
    report.heading("vLLM: clients leave mid-stream")
    scene = scenes.leave_mid_stream(stack, 5)
    rows = known.ended(scene.seen)
    left = [one for one in scene.seen if one.left]
    stayed = [one for one in scene.seen if not one.left]

    assert (len(left), len(stayed)) == (5, 5)
    assert outcomes(rows, left) == {"cancelled": 5}
    assert outcomes(rows, stayed) == {"ok": 5}
    answer = server.get("/diagnosis", **scene.window)
    report.diagnosis(answer)
    assert answer["requests"]["cancelled"] == 5
    assert answer["requests"]["evaluated"] == 5


def test_clients_that_leave_before_decode_leave_no_kv_unaccounted(stack, server, known, report):
    report.heading("vLLM: clients leave while prefill computes")
    scene = scenes.leave_before_decode(stack, 5)
    rows = known.ended(scene.seen)

    assert outcomes(rows, scene.seen) == {"cancelled": 5}
    time.sleep(LEASE_S)
    answer = server.get("/diagnosis", **scene.window)
    report.diagnosis(answer)
    assert answer["requests"]["cancelled"] == 5
    orphans = server.get("/kv/orphans", **scene.window)["orphans"]
    rows = known.of(scene.seen)
    published = {row["key"] for row in rows.values() if whole(row, ("kv_publish",))}
    read = {row["key"] for row in rows.values() if whole(row, ("kv_import",))}
    report.line(
        f"{len(published)} of 5 had published KV before prefill heard of it, {len(orphans)} are orphans"
    )
    assert {orphan["request_key"] for orphan in orphans if orphan["side"] == "prefill"} == published - read


def test_kv_that_no_decode_fetches_is_named_one_by_one_soon_after_its_lease(stack, server, known, report):
    report.heading("vLLM: decode is never called")
    scene = scenes.decode_never_called(stack, 5)
    published = max(one.last_token_ns or 0 for one in scene.seen) / 1e9
    found: dict[str, Any] = {}

    def named() -> bool:
        found.update(server.get("/kv/orphans", **scene.window))
        return found["orphans_total"] == len(scene.seen)

    assert until(named, LEASE_S + 60), found
    after = time.time() - published
    report.line(f"all {len(scene.seen)} named {after:.1f} s after the last was published (lease {LEASE_S} s)")
    assert after <= LEASE_S + 10
    rows = known.of(scene.seen)
    keys = {rows[one.trace_id]["key"]: one for one in scene.seen}
    assert {orphan["request_key"] for orphan in found["orphans"]} == set(keys)
    for orphan in found["orphans"]:
        blocks = -(-keys[orphan["request_key"]].wish.prompt // BLOCK)
        assert orphan["bytes"] == blocks * BYTES_PER_BLOCK
        assert (orphan["side"], orphan["state"]) == ("prefill", "expired")
        assert orphan["held_s"] == pytest.approx(LEASE_S, abs=3)
    answer = server.get("/diagnosis", **scene.window)
    report.diagnosis(answer)
    assert answer["quantities"]["orphaned_requests"] == len(scene.seen)
    assert stack.metric("prefill", "vllm:nixl_num_kv_expired_reqs_total") >= len(scene.seen)


def test_a_prefill_pool_under_long_prompts_is_named_as_starved(stack, server, known, report):
    report.heading("vLLM: prefill saturated by long prompts")
    scene = scenes.saturate_prefill(stack, 20)
    rows = known.ended(scene.seen)

    assert [one.error for one in scene.seen if not one.completed] == []
    assert outcomes(rows, scene.seen) == {"ok": len(scene.seen)}
    known.once(scene.seen, is_whole)
    answer = server.get("/diagnosis", **scene.window)
    report.diagnosis(answer)
    assert answer["dominant_cause"] == "pool_imbalance.prefill_starved"


def test_a_decode_worker_that_crashes_breaks_its_streams_and_strands_kv(stack, server, known, report):
    report.heading("vLLM: decode is killed")
    scene = scenes.kill_decode(stack, 4)
    try:
        rows = known.ended(scene.seen)
        streams, late = scene.seen[:4], scene.seen[4:]
        report.line(f"streams {dict(outcomes(rows, streams))}, not yet decoding {dict(outcomes(rows, late))}")
        assert outcomes(rows, streams) == {"interrupted": 4}
        assert set(outcomes(rows, late)) <= {"error", "rejected"}
        wanted = {rows[one.trace_id]["key"] for one in late}

        def stranded() -> bool:
            orphans = server.get("/kv/orphans", **scene.window)["orphans"]
            return wanted <= {orphan["request_key"] for orphan in orphans if orphan["side"] == "prefill"}

        assert until(stranded, LEASE_S + 60)
        answer = server.get("/diagnosis", **scene.window)
        report.diagnosis(answer)
        counts = answer["requests"]
        assert counts["errored"] + counts["rejected"] == len(scene.seen)
        assert answer["quantities"]["orphaned_requests"] == len(late)
    finally:
        stack.revive("decode")


def test_a_prefill_worker_that_crashes_before_the_pull_fails_the_hand_off(stack, server, known, report):
    report.heading("vLLM: prefill is killed before decode pulls")
    scene = scenes.kill_prefill_before_the_pull(stack, 4)
    try:
        rows = known.ended(scene.seen)
        report.line(f"outcomes {dict(outcomes(rows, scene.seen))}")
        answer = server.get("/diagnosis", **scene.window)
        report.diagnosis(answer)
        orphans = server.get("/kv/orphans", **scene.window)["orphans"]
        report.line(f"orphans: {[(one['side'], one['state'], one['bytes']) for one in orphans]}")
        assert set(outcomes(rows, scene.seen)) <= {"error", "interrupted", "rejected"}
        assert answer["requests"]["missed"] == len(scene.seen)
        assert any(finding["finding"] == "failed_transfers" for finding in answer["findings"])
    finally:
        stack.revive("prefill")


def test_the_stack_serves_on_and_is_seen_whole_after_all_of_this(stack, server, known, report):
    report.heading("vLLM: after the faults")
    scene = scenes.ordinary(stack, 5, 1.0, 98)

    assert all(one.completed for one in scene.seen)
    rows = known.once(scene.seen, is_whole)
    assert len(rows) == 5
    assert all(map(is_whole, rows.values()))
    report.line("5 of 5 requests whole")
