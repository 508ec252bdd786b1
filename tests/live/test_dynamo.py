"""Real Dynamo (mock engines) through its own frontend: what clients saw is what pdscope says."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from tests.live.client import Client, Seen, Wish, drive
from tests.live.dynamo_stack import MODEL, DynamoStack
from tests.live.figures import Lag, agreement
from tests.live.processes import children
from tests.live.scenes import streaming
from tests.live.set_up import DYNAMO

pytestmark = [pytest.mark.live, pytest.mark.timeout(1200)]

REQUESTS = 200


@pytest.fixture(scope="module")
def stack(server, folder, report) -> Iterator[DynamoStack]:
    if why := DYNAMO.why_skipped():
        pytest.skip(why)
    here = folder / "dynamo"
    here.mkdir()
    with children() as started:
        made = DynamoStack(server, here, started)
        made.start()
        yield made


def played(stack: DynamoStack, play, seed: int) -> tuple[list[Seen], Lag, dict[str, str]]:
    """What clients saw, the harness's lag, and the window of a REST call about it."""
    start = time.time()
    seen, lag = drive(stack.url, MODEL, play, seed=seed, token_prompts=False)
    return seen, lag, {"from": f"{start:.3f}", "to": f"{time.time():.3f}"}


def test_streamed_requests_are_timed_as_their_clients_saw_them(stack, server, known, report):
    report.heading("Dynamo 1.6.1, frontend with the KV router, mock engines: streaming requests")

    async def play(client: Client) -> list[Seen]:
        return await client.at_random([Wish(100, 8) for _ in range(REQUESTS)], 2.0)

    seen, lag, window = played(stack, play, 11)
    rows = known.ended(seen)

    assert [one.error for one in seen if not one.completed] == []
    assert len(rows) == REQUESTS
    for one in seen:
        row = rows[one.trace_id]
        assert (row["system"], row["outcome"], row["is_complete"]) == ("dynamo", "ok", True)
        assert (row["input_tokens"], row["output_tokens"]) == (one.input_tokens, one.output_tokens)
        assert row["prefill_worker"] != row["decode_worker"]
    found = agreement(
        [
            (rows[one.trace_id]["ttft"], one.ttft_s, lag.of(one.sent_ns, one.first_token_ns or 0))
            for one in seen
        ]
    )
    report.line(found.line)
    assert found.faults(median_ms=10, p95_ms=60) == []
    assert server.get("/diagnosis", **window)["requests"]["total"] == REQUESTS


def test_clients_that_leave_are_cancelled(stack, server, known, report):
    report.heading("Dynamo: clients leave mid-stream")

    async def play(client: Client) -> list[Seen]:
        return await client.at_random([Wish(100, 2000, leave_after_chunks=3)] * 6, 2.0)

    seen, _, window = played(stack, play, 12)
    rows = known.ended(seen)

    assert {row["outcome"] for row in rows.values()} == {"cancelled"}
    assert len(rows) == len(seen)
    answer = server.get("/diagnosis", **window)
    report.diagnosis(answer)
    assert answer["requests"]["cancelled"] == len(seen)


def test_a_killed_decode_worker_breaks_its_streams(stack, server, known, report):
    """Last but one: the worker stays dead, the other one serves on."""
    report.heading("Dynamo: one of two decode workers is killed")

    async def play(client: Client) -> list[Seen]:
        streams = [asyncio.create_task(client.one(Wish(60, 3000))) for _ in range(6)]
        await streaming(client, 6)
        stack.kill("decode-0")
        return list(await asyncio.gather(*streams))

    seen, _, window = played(stack, play, 13)
    rows = known.ended(seen)

    broken = [one for one in seen if not one.completed]
    report.line(
        f"{len(broken)} of {len(seen)} streams broke: {sorted({one.error or 'cut' for one in broken})}"
    )
    assert broken
    assert {rows[one.trace_id]["outcome"] for one in broken} <= {"interrupted", "error"}
    answer = server.get("/diagnosis", **window)
    report.diagnosis(answer)
    assert answer["requests"]["errored"] == len(broken)


def test_without_a_prefill_worker_requests_are_refused(stack, server, known, report):
    """Last: no prefill worker is left."""
    report.heading("Dynamo: the only prefill worker is killed")

    async def play(client: Client) -> list[Seen]:
        stack.kill("prefill-0")
        return await client.at_random([Wish(60, 8) for _ in range(4)], 0.5)

    seen, _, window = played(stack, play, 14)
    known.ended(seen)
    answer = server.get("/diagnosis", **window)
    statuses = sorted({(one.status, one.error, one.completed) for one in seen}, key=repr)
    report.line(f"clients saw (status, error, completed): {statuses}")
    report.diagnosis(answer)
    failed = [one for one in seen if not one.completed]
    counts = answer["requests"]
    assert counts["rejected"] + counts["errored"] == len(failed)
