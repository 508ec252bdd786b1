"""With a journal: acknowledged once on disk, stored afterwards, whatever the store does."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import grpc
import httpx
import pytest
from prometheus_client import CollectorRegistry

from collector.errors import StoreError
from collector.journal import Journal, JournalLimits
from collector.journal.inspect import read_journal
from collector.receive import OtlpReceiver, ReceiveSettings
from collector.receive.export import Kind
from collector.receive.grpc_listener import TRACE_SERVICE
from collector.receive.inserter import Inserter
from collector.receive.metrics import ReceiveMetrics
from collector.receive.replay import replay_file
from collector.store import InsertResult, Store
from tests.receive.bodies import body, unique_name
from tests.receive.test_back_pressure import POISON
from tests.signals.otlp import body as metrics_body
from tests.signals.otlp import gauge, number

PROTOBUF = {"content-type": "application/x-protobuf"}


class Gate:
    """The real store behind a gate: it can be away, slow, or fail on bodies that hold some bytes."""

    def __init__(self, store: Store):
        self._store = store
        self.away: str = ""
        self.breaks: Exception | None = None
        self.fails_on: bytes = b""
        self.inserts = 0

    def insert_traces(self, bodies: Sequence[bytes]) -> InsertResult:
        self._pass(bodies)
        return self._store.insert_traces(bodies)

    def insert_metrics(self, bodies: Sequence[bytes]) -> InsertResult:
        self._pass(bodies)
        return self._store.insert_metrics(bodies)

    def _pass(self, bodies: Sequence[bytes]) -> None:
        self.inserts += 1
        if self.breaks:
            raise self.breaks
        if self.away:
            raise StoreError(self.away)
        if self.fails_on and any(self.fails_on in one for one in bodies):
            raise StoreError("Code: 69. DB::Exception: this one")


@pytest.fixture
def gate(store: Store) -> Gate:
    return Gate(store)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path / "journal", JournalLimits(min_free_bytes=0, max_age=0.3, max_bytes=20_000))
    yield opened
    opened.close()


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def receiver(gate: Gate, journal: Journal, registry: CollectorRegistry) -> Iterator[OtlpReceiver]:
    settings = ReceiveSettings("127.0.0.1:0", "127.0.0.1:0", own_span_ratio=0, insert_linger=0.02)
    running = OtlpReceiver(gate, settings, registry, journal)
    running.start()
    yield running
    gate.away = gate.fails_on = ""  # type: ignore[assignment]
    gate.fails_on = b""
    running.stop(grace=5)


def post(receiver: OtlpReceiver, content: bytes, signal: str = "traces") -> httpx.Response:
    url = f"http://127.0.0.1:{receiver.http_port}/v1/{signal}"
    return httpx.post(url, content=content, headers=PROTOBUF, timeout=10)


def eventually(holds: Callable[[], object], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_export_is_acknowledged_while_the_store_is_away_and_stored_when_it_is_back(
    receiver: OtlpReceiver, gate: Gate, stored: Callable[[str], int], journal: Journal
) -> None:
    name = unique_name()
    gate.away = "connection refused"
    with grpc.insecure_channel(f"127.0.0.1:{receiver.grpc_port}") as channel:
        channel.unary_unary(f"/{TRACE_SERVICE}/Export")(body(name, 3), timeout=10)
    assert post(receiver, body(name, 2)).status_code == 200
    eventually(lambda: "connection refused" in " ".join(receiver.troubles()))
    assert stored(name) == 0
    gate.away = ""
    eventually(lambda: stored(name) == 5)
    eventually(lambda: receiver.troubles() == [])
    eventually(lambda: not list(journal.directory.glob("*.pdj")))


def test_metrics_take_the_same_way(receiver: OtlpReceiver, store: Store) -> None:
    worker = unique_name()
    assert post(receiver, metrics_body(worker, gauge("vllm:x", number(1, 2))), "metrics").status_code == 200
    count = (
        "SELECT count() FROM signals WHERE resource_id IN "
        "(SELECT resource_id FROM resources WHERE instance = {w:String})"
    )
    eventually(lambda: store.query(count, {"w": worker}) == [(1,)])


def test_a_full_journal_refuses_and_says_so_until_the_store_is_back(
    receiver: OtlpReceiver, gate: Gate, stored: Callable[[str], int], registry: CollectorRegistry
) -> None:
    name = unique_name()
    gate.away = "away"
    accepted = 0
    while (answer := post(receiver, body(name, 20))).status_code == 200:
        accepted += 1
        assert accepted < 100
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert b"journal_max_bytes" in answer.content
    assert accepted > 2
    gate.away = ""
    eventually(lambda: stored(name) == 20 * accepted)
    assert post(receiver, body(name)).status_code == 200
    labels = {"transport": "http", "reason": "journal_full"}
    assert registry.get_sample_value("pdscope_refused_exports_total", labels) == 1


def test_what_only_the_store_cannot_read_is_set_aside_and_blocks_nothing(
    receiver: OtlpReceiver, journal: Journal, stored: Callable[[str], int], store: Store
) -> None:
    name = unique_name()
    for index in range(6):
        assert post(receiver, body(name) + (POISON if index == 2 else b"")).status_code == 200
    eventually(lambda: stored(name) == 5)
    eventually(lambda: list((journal.directory / "aside").glob("*.pdj")))
    aside = [report for report in read_journal(journal.directory) if report.aside]
    assert [dict(report.records) for report in aside] == [{Kind.TRACES: 1}]
    assert replay_file(aside[0].file, store).refused == 1


def test_a_body_the_store_fails_on_for_good_does_not_block_the_others(
    gate: Gate, journal: Journal, stored: Callable[[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collector.receive.inserter._FIRST_RETRY", 0.0)
    name, bad = unique_name(), unique_name()
    gate.fails_on = bad.encode()
    journal.append([(1, body(bad if index == 3 else name)) for index in range(8)])
    inserter = Inserter(journal, gate, ReceiveMetrics(CollectorRegistry()))
    for _ in range(40):
        inserter._store_some()
    assert stored(name) == 7
    assert journal.backlog_bytes == 0
    assert len(list((journal.directory / "aside").glob("*.pdj"))) == 1


def test_what_an_unforeseen_error_kept_from_the_store_is_tried_again(
    gate: Gate, journal: Journal, stored: Callable[[str], int]
) -> None:
    name = unique_name()
    journal.append([(1, body(name))])
    inserter = Inserter(journal, gate, ReceiveMetrics(CollectorRegistry()))
    gate.breaks = OSError("no file descriptor is left")
    for _ in range(2):
        inserter._store_some()
    assert inserter.state.why == "storing failed: OSError: no file descriptor is left"
    assert journal.backlog_bytes > 0
    gate.breaks = None
    inserter.drain()
    assert stored(name) == 1
    assert journal.backlog_bytes == 0


def test_while_the_store_is_away_nothing_is_set_aside_however_long_it_takes(
    gate: Gate, journal: Journal, stored: Callable[[str], int]
) -> None:
    name = unique_name()
    journal.append([(1, body(name))])
    inserter = Inserter(journal, gate, ReceiveMetrics(CollectorRegistry()))
    gate.away = "Code: 210. connection refused"
    for _ in range(20):
        inserter._store_some()
    gate.away = ""
    gate.fails_on = name.encode()
    gate_error = "NOT_ENOUGH_SPACE"
    gate.away = gate_error
    for _ in range(10):
        inserter._store_some()
    gate.away, gate.fails_on = "", b""
    inserter.drain()
    assert stored(name) == 1
    assert not (journal.directory / "aside").exists()


def test_replaying_what_was_stored_already_changes_no_count_downstream(
    gate: Gate, tmp_path: Path, store: Store
) -> None:
    """A position that was lost means that everything is stored again: spans are copies, not more spans."""
    name = unique_name()
    data = body(name, 5)
    for _ in range(3):
        journal = Journal(tmp_path / "journal", JournalLimits(min_free_bytes=0))
        if not list(journal.directory.glob("*.pdj")):
            journal.append([(1, data)])
        taken = journal.take(1 << 20)
        assert taken
        gate.insert_traces([bytes(record.body) for record in taken.records])
        for segment in journal._segments:
            segment.close()
        journal._stored.close()
    counted = store.query(
        "SELECT count(), uniqExact(trace_id, span_id, resource_id) FROM spans WHERE name = {n:String}",
        {"n": name},
    )
    assert counted == [(15, 5)]


def test_stopping_stores_what_was_acknowledged(
    gate: Gate, journal: Journal, stored: Callable[[str], int]
) -> None:
    name = unique_name()
    settings = ReceiveSettings("127.0.0.1:0", "127.0.0.1:0", own_span_ratio=0, insert_linger=30)
    running = OtlpReceiver(gate, settings, CollectorRegistry(), journal)
    running.start()
    threads = [threading.Thread(target=post, args=(running, body(name))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    running.stop(grace=10)
    assert stored(name) == 5


def test_scrubbed_text_never_touches_the_disk(
    gate: Gate, journal: Journal, stored: Callable[[str], int]
) -> None:
    name, secret = unique_name(), "correct horse battery"
    gate.away = "away"
    settings = ReceiveSettings("127.0.0.1:0", "127.0.0.1:0", own_span_ratio=0, scrub=True)
    running = OtlpReceiver(gate, settings, CollectorRegistry(), journal)
    running.start()

    def tell(span: object) -> None:
        span.attributes.add(key="gen_ai.prompt.0.content").value.string_value = secret  # type: ignore[attr-defined]
        span.attributes.add(key="kept").value.string_value = "kept text"  # type: ignore[attr-defined]
        event = span.events.add(name="gen_ai.content.prompt")  # type: ignore[attr-defined]
        event.attributes.add(key="gen_ai.prompt").value.string_value = secret

    try:
        assert post(running, body(name, 2, tell)).status_code == 200
        on_disk = b"".join(path.read_bytes() for path in journal.directory.glob("*.pdj"))
        assert secret.encode() not in on_disk
        assert b"kept text" in on_disk
        gate.away = ""
        eventually(lambda: stored(name) == 2)
    finally:
        running.stop(grace=5)
