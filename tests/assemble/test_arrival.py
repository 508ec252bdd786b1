"""One request, one row: whatever comes first, late, twice, or across a crash."""

import time
from dataclasses import replace
from itertools import permutations

import pytest

from analyzer.assemble.assembler import Assembler
from analyzer.assemble.oracle_spans import Process, Span
from collector.store import Store
from tests.assemble.otlp import body, clear, differences, expected, rows
from tests.assemble.random_requests import request

MS = 1_000_000
MIDNIGHT = 1_750_032_000 * 10**9
ROUTER = Process((("service.name", "router"),))
PREFILL = Process((("service.name", "p"), ("service.instance.id", "p:0"), ("pd.pool", "prefill")))


def native(trace: int, start: int = MIDNIGHT + 3600 * 10**9, name: str = "") -> list[Span]:
    """A request of 40 ms with its first token after 20: the request span, a queue of 5 ms, 10 of compute."""
    ids = {"pd.request.id": name or f"r-{trace}"}
    trace_id = trace.to_bytes(16, "big")

    def span(number, name, process, begin, end, **more):
        return Span(
            trace_id,
            number.to_bytes(8, "big"),
            b"",
            process,
            "",
            name,
            1,
            0,
            start + begin * MS,
            start + end * MS,
            {**ids, **more.pop("attributes", {})},
            **more,
        )

    events = (("first_token", start + 20 * MS), ("last_token", start + 40 * MS))
    return [
        span(1, "pd.request", ROUTER, 0, 40, attributes={"pd.outcome": "ok"}, events=events),
        span(2, "pd.prefill_queue", PREFILL, 0, 5),
        span(3, "pd.prefill_compute", PREFILL, 5, 15),
    ]


def versions(store: Store) -> list[tuple]:
    return store.query(
        "SELECT request_key, complete, late_spans, toUnixTimestamp64Nano(started_at), spans"
        " FROM requests FINAL WHERE tombstone = 0"
    )


def test_a_request_without_its_root_then_complete_then_shifted_across_midnight_is_one_row(store):
    root, *legs = native(1, MIDNIGHT + 5 * MS)
    fallback = replace(
        legs[0],
        span_id=b"fallback",
        name="dynamo.request.trace",
        attributes={"dynamo.trace.request_id": "r-1"},
    )
    assembler = Assembler(store)
    for spans in ([*legs, fallback], [root]):
        store.insert_traces([body(spans)])
        assembler.catch_up()
        assert len(versions(store)) == 1
    shifted = [
        replace(
            s,
            start_ns=s.start_ns - 10 * MS,
            end_ns=s.end_ns - 10 * MS,
            events=tuple((name, ns - 10 * MS) for name, ns in s.events),
        )
        for s in (root, *legs)
    ]
    store.insert_traces([body(shifted)])
    assembler.catch_up()

    ((_, complete, _, started, spans),) = versions(store)
    assert (complete, started, spans) == (1, MIDNIGHT - 5 * MS, 4)
    ((row,),) = [tuple(rows(store).values())]
    assert row["ttft_ns"] == 20 * MS
    assert row["last_token_at"] - row["first_token_at"] == 20 * MS


def test_late_spans_make_a_newer_version_and_are_counted_once_each(store):
    root, queue, compute = native(2)
    assembler = Assembler(store, late_after_s=0)
    store.insert_traces([body([root, queue])])
    assembler.catch_up()
    ((_, complete, late, _, spans),) = versions(store)
    assert (complete, late, spans) == (1, 0, 2)

    store.insert_traces([body([compute])])
    assembler.catch_up()
    assert [row[2] for row in versions(store)] == [1]

    store.insert_traces([body([queue, compute])])
    assembler.catch_up()

    ((_, _, late, _, spans),) = versions(store)
    assert (late, spans) == (1, 3)
    ((row,),) = [tuple(rows(store).values())]
    assert row["duplicate_spans"] == 2
    assert differences(row, expected([[root, queue, compute, queue, compute]])[0]) == {}


def test_a_row_is_never_replaced_by_one_made_from_fewer_spans(store):
    spans = native(3)
    store.insert_traces([body(spans)])
    assembler = Assembler(store)
    assembler.catch_up()
    before = rows(store)
    for table in ("spans", "span_facts"):
        store.command(f"TRUNCATE TABLE {table}")

    store.insert_traces([body(spans[:1])])
    assembler.catch_up()

    assert rows(store) == before


def test_requests_still_without_their_request_span_are_no_rows(store):
    _, *legs = native(4)
    store.insert_traces([body(legs)])
    Assembler(store).catch_up()
    assert rows(store) == {}


class Crash(Exception):
    """The process is gone."""


class Fragile:
    """A store whose process dies before the n-th statement that changes something."""

    def __init__(self, store: Store, statements: int):
        self._store, self._left = store, statements

    def __getattr__(self, name):
        return getattr(self._store, name)

    def _spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Crash

    def command(self, *args):
        self._spend()
        return self._store.command(*args)

    def insert(self, *args):
        self._spend()
        return self._store.insert(*args)


def crowd() -> list[list[Span]]:
    """Random requests, two in one trace, and one whose legs have traces of their own."""
    shared = [
        *native(90),
        *(replace(s, span_id=bytes(reversed(s.span_id))) for s in native(90, name="other")),
    ]
    root, *legs = native(91)
    apart = [root, *(replace(leg, trace_id=b"leg" + leg.trace_id[3:]) for leg in legs)]
    return [*(request(seed) for seed in range(30)), shared, apart]


@pytest.mark.parametrize("steps", [1, 2])
def test_crashes_between_any_two_statements_change_nothing(store, steps):
    """Dies before the first statement, started again dies before the second, and so on to the end."""
    spans = [span for of_request in crowd() for span in of_request]
    bodies = [body(spans[number::steps]) for number in range(steps)]
    assembler = Assembler(store)
    for one in bodies:
        store.insert_traces([one])
        assembler.catch_up()
    undisturbed = rows(store)

    clear(store)
    crashes = 0
    for number, one in enumerate(bodies):
        store.insert_traces([one])
        done = False
        while not done:
            try:
                Assembler(Fragile(store, 6 + (crashes if number == steps - 1 else 99))).catch_up()
                done = True
            except Crash:
                crashes += 1

    assert crashes > 12
    assert rows(store) == undisturbed


def test_two_requests_of_one_id_are_two_whatever_arrives_first(store):
    """Two clients count their requests alike: each request keeps its own spans, in every order of arrival."""
    orders = list(permutations(range(4)))
    pieces = []
    for number, _ in enumerate(orders):
        first = native(2 * number + 1, name=f"r-{number}")
        second = native(2 * number + 2, MIDNIGHT + 3601 * 10**9, name=f"r-{number}")
        pieces.append([first[:1], first[1:], second[:1], second[1:]])
    assembler = Assembler(store)
    for turn in range(4):
        arriving = [piece[order[turn]] for piece, order in zip(pieces, orders, strict=True)]
        store.insert_traces([body([span for spans in arriving for span in spans])])
        assembler.catch_up()
    found = rows(store)
    assert len(found) == 2 * len(orders)
    assert {row["spans"] for row in found.values()} == {3}
    assert {row["ttft_ns"] for row in found.values()} == {20 * MS}


def test_a_request_whose_kv_ran_out_unread_is_shown_without_waiting_for_its_request_span(store):
    """Nobody will come for it: its orphan has to be named while the KV is still missed."""
    now = time.time_ns() // MS * MS
    root, *_ = native(77, now - 20_000 * MS)
    prefill = replace(
        root, span_id=b"prefills", scope="vllm", name="llm_request", process=PREFILL, events=(),
        attributes={"gen_ai.request.id": "cmpl-x-0", "gen_ai.usage.prompt_tokens": "7"},
    )  # fmt: skip
    publish, release = (
        replace(
            prefill, span_id=name.encode()[-8:], name=name, scope="", start_ns=at, end_ns=at,
            attributes={"pd.kv.transfer_id": "t", **more},
        )
        for name, at, more in (
            ("pd.kv_publish", now - 19_000 * MS, {"pd.kv.bytes": "4096"}),
            ("pd.kv_release", now - 4_000 * MS, {"pd.kv.reason": "expired"}),
        )
    )  # fmt: skip
    clear(store)
    store.command("TRUNCATE TABLE transfers")
    assembler = Assembler(store)

    store.insert_traces([body([prefill, publish])])
    assembler.catch_up()
    assert rows(store) == {}

    store.insert_traces([body([release])])
    assembler.catch_up()
    ((row,),) = [tuple(rows(store).values())]
    assert row["notes"] == ("no_request_span",)
    assert store.query("SELECT transfer_id, releases.2 FROM transfers FINAL") == [("t", ["expired"])]


def leg_alone(trace: int, at: int) -> Span:
    """An engine's leg of 10 ms whose request span has not come."""
    root, *_ = native(trace, at)
    told = {"gen_ai.request.id": f"cmpl-{trace}-0", "gen_ai.usage.prompt_tokens": "7"}
    return replace(
        root, span_id=b"prefills", scope="vllm", name="llm_request", process=PREFILL, events=(),
        end_ns=at + 10 * MS, attributes=told,
    )  # fmt: skip


def of_trace(store: Store, trace: int) -> list[dict]:
    return [row for row in rows(store).values() if row["trace_id"] == trace.to_bytes(16, "big")]


def test_a_leg_that_stands_alone_is_shown_although_others_never_stop_coming(store):
    """On a busy system there is no quiet moment to judge again in."""
    now = time.time_ns() // MS * MS
    store.insert_traces([body([leg_alone(81, now - 1_000 * MS)])])
    Assembler(store, grace_s=3600).step()
    assert of_trace(store, 81) == []

    assembler = Assembler(store, grace_s=0, review_every_s=0)
    for number in range(2):
        store.insert_traces([body(native(82 + number, now))])
        assert assembler.step()

    ((row,),) = [of_trace(store, 81)]
    assert row["notes"] == ("no_request_span",)


def test_what_falls_due_after_the_last_arrival_is_shown_without_another(store):
    end = time.time_ns() // MS * MS + 300 * MS
    store.insert_traces([body([leg_alone(85, end - 10 * MS)])])
    assembler = Assembler(store, grace_s=0, review_every_s=0)
    assert assembler.step()
    assembler.step()
    while time.time_ns() <= end + MS:
        time.sleep(0.05)

    assembler.step()

    assert [row["notes"] for row in of_trace(store, 85)] == [("no_request_span",)]


def publishing(leg: Span, lease_end: int, **more: str) -> list[Span]:
    """The leg and its publish, whose lease ends at a Unix time (ns)."""
    told = {"pd.kv.transfer_id": "t", "pd.kv.lease_expires_unix_nano": str(lease_end), **more}
    publish = replace(
        leg, span_id=b"publishs", name="pd.kv_publish", scope="", start_ns=leg.end_ns, attributes=told
    )
    return [leg, publish]


def test_kv_whose_lease_ended_is_shown_although_nobody_says_that_it_was_given_back(store):
    """Few engines tell; the deadline they told is enough, once a read of it would have been heard of."""
    now = time.time_ns() // MS * MS
    over = publishing(leg_alone(91, now - 40_000 * MS), now - 10_000 * MS)
    running = publishing(leg_alone(92, now - 1_000 * MS), now + 3600 * 10**9)
    read = publishing(leg_alone(93, now - 40_000 * MS), now - 10_000 * MS)
    read += [replace(read[1], span_id=b"imported", name="pd.kv_import", end_ns=read[1].end_ns + 5 * MS)]
    unread = publishing(leg_alone(94, now - 40_000 * MS), now - 10_000 * MS)
    renewed = [*unread, replace(publishing(unread[0], now + 3600 * 10**9)[1], span_id=b"renewals")]

    store.insert_traces([body([*over, *running, *read, *renewed])])
    Assembler(store, grace_s=3600).catch_up()

    assert [len(of_trace(store, trace)) for trace in (91, 92, 93, 94)] == [1, 0, 0, 0]


def test_a_lease_that_ends_later_is_looked_at_again_then(store):
    now = time.time_ns() // MS * MS
    end = now + 300 * MS
    store.insert_traces([body(publishing(leg_alone(95, now - 1_000 * MS), end))])
    assembler = Assembler(store, grace_s=3600, late_after_s=0, review_every_s=0)
    assert assembler.step()
    while time.time_ns() <= end + MS:
        time.sleep(0.05)

    assembler.step()

    assert [row["notes"] for row in of_trace(store, 95)] == [("no_request_span",)]


def test_judging_again_leaves_requests_that_have_their_request_span_alone(store):
    """A leg could stand for its request; in a trace with the request span it does not."""
    now = time.time_ns() // MS * MS
    root, *_ = native(97, now - 900_000 * MS)
    leg = leg_alone(97, now - 900_000 * MS)
    store.insert_traces([body([root, replace(leg, parent_id=root.span_id)])])
    assembler = Assembler(store, grace_s=1, review_every_s=0)
    assembler.catch_up()
    before = assembler.judged()

    assembler.catch_up()

    assert assembler.judged() == before == 0
    assert len(of_trace(store, 97)) == 1
