import logging
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.instrument.kv_events import Allocated, Arrived, Finished, RankTransfer, Received, Transferred
from collector.instrument.kv_fold import OPEN_KEPT, Engine, KvFold, outside_id
from collector.instrument.span_worker import WIDTH, SpanWorker

ENGINE = Engine("e", "NixlConnector", ranks=4, block_bytes=1000)


def put(worker, *note):
    """As the engine's thread does."""
    if len(worker.queue) < worker.limit:
        worker.queue.extend((*note, *[None] * (WIDTH - len(note))))
    else:
        worker.full()


def test_a_full_queue_drops_and_counts_and_never_waits(caplog):
    hold, seen = threading.Event(), []

    def read(note):
        hold.wait(5)
        seen.append(note)
        return []

    worker = SpanWorker(read, lambda spec: None, capacity=10)
    for number in range(100):
        put(worker, "arrived", number)
    hold.set()
    with caplog.at_level(logging.WARNING):
        worker.close()
    assert worker.dropped + len(seen) == 100
    assert len(seen) in (10, 11)
    assert f"{worker.dropped} KV events were dropped" in caplog.text


def test_a_note_that_can_not_be_read_is_said_once_and_the_next_is_taken(caplog):
    taken = []

    def read(note):
        if note[1] != "good":
            raise KeyError(note[1])
        taken.append(note)
        return []

    worker = SpanWorker(read, lambda spec: None)
    for name in ("bad", "worse", "good"):
        put(worker, "arrived", name)
    worker.close()
    assert [note[:3] for note in taken] == [["arrived", "good", None]]
    assert len(caplog.records) == 1


shares = st.builds(
    RankTransfer,
    rank=st.integers(0, 3),
    asked_ns=st.one_of(st.none(), st.integers(100, 200)),
    first_post_ns=st.none(),
    done_ns=st.integers(200, 300),
    post_us=st.one_of(st.none(), st.floats(0, 1e6)),
    bytes=st.one_of(st.none(), st.integers(0, 10**9)),
    descriptors=st.one_of(st.none(), st.integers(0, 10**6)),
    failed=st.booleans(),
)


def transfer(ranks):
    fold = KvFold(ENGINE)
    events = [
        Arrived(50, "r", None),
        Allocated(90, "r", "t", "p", 64),
        *(Transferred("r", share) for share in ranks),
    ]
    for event in events:
        fold.apply(event)
    return fold.apply(Received(400, "r", any(share.failed for share in ranks)))


@given(st.lists(shares, max_size=4), st.randoms())
def test_the_order_in_which_ranks_report_changes_nothing(ranks, random):
    shuffled = list(ranks)
    random.shuffle(shuffled)
    assert transfer(ranks) == transfer(shuffled)


@given(st.lists(shares, max_size=4))
def test_a_folded_transfer_lies_around_its_ranks_and_adds_them_up(ranks):
    span = transfer(ranks)[0]
    assert 90 <= span.start_ns <= span.end_ns <= 400
    known = [share.bytes for share in ranks if share.bytes is not None]
    assert span.attributes.get("pd.kv.bytes") == (sum(known) if known else None)
    assert span.end_ns == max((share.done_ns for share in ranks), default=400)


def test_what_is_never_finished_is_forgotten_in_the_end():
    fold = KvFold(ENGINE)
    for number in range(OPEN_KEPT + 5):
        fold.apply(Arrived(1, f"r{number}", None))
        fold.apply(Finished(1, 2, f"p{number}", "FINISHED_STOPPED", True, f"t{number}", 1, 1, 30.0))
    assert (len(fold), fold.forgotten) == (2 * OPEN_KEPT, 10)


@pytest.mark.parametrize(
    ("internal", "outside"),
    [
        ("cmpl-mine-7-0-a87f13c4", "mine-7"),
        ("chatcmpl-mine-a87f13c4", "mine"),
        (
            "chatcmpl-___prefill_addr_h:1___decode_addr_h:2_07d8-a7fcbfe9",
            "___prefill_addr_h:1___decode_addr_h:2_07d8",
        ),
        ("plain", "plain"),
    ],
)
def test_the_id_that_came_with_the_request_is_found_in_the_engines(internal, outside):
    assert outside_id(internal) == outside
