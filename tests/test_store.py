import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
from clickhouse_connect.driver.exceptions import OperationalError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.errors import StoreBusy, StoreError, StoreTooNew
from collector.store import Store
from collector.store.lock import running_api
from collector.store.migrate import migrations

START = 1_790_000_000_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "data")
    yield opened
    opened.close()


def export(attributes: dict[str, str], name: str = "pd.request") -> bytes:
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id, span.name = b"t" * 16, b"s" * 8, name
    span.start_time_unix_nano, span.end_time_unix_nano = START, START + 1
    event = span.events.add(name="first_token", time_unix_nano=START)
    for key, value in attributes.items():
        span.attributes.add(key=key).value.string_value = value
        event.attributes.add(key=key).value.string_value = value
    return request.SerializeToString()


def test_prompt_text_and_identity_never_reach_the_store_and_are_counted(store: Store) -> None:
    private = {
        "gen_ai.prompt": "a secret",
        "gen_ai.prompt.0.content": "a secret",
        "gen_ai.input.messages": "a secret",
        "llm.prompts.0.content": "a secret",
        "enduser.id": "a secret",
        "user.email": "a secret",
        "client.address": "a secret",
    }
    store.insert_traces([export({**private, "pd.tenant": "kept", "user_tier": "kept"})])
    kept = store.query("SELECT attrs, events.attrs FROM spans")[0]
    assert kept[0] == {"pd.tenant": "kept", "user_tier": "kept"}
    assert list(kept[1]) == [{"pd.tenant": "kept", "user_tier": "kept"}]
    assert store.query("SELECT private_attributes FROM ingest_log") == [(2 * len(private),)]


def test_further_private_attributes_come_from_the_settings(tmp_path: Path) -> None:
    store = Store(tmp_path / "data", private_attributes=["customer.name"])
    store.insert_traces([export({"customer.name": "x", "customer.tier": "y"})])
    assert store.query("SELECT attrs FROM spans") == [({"customer.tier": "y"},)]
    store.close()


def test_a_second_store_on_the_same_directory_names_the_process_that_holds_it(store: Store) -> None:
    assert store.path
    with pytest.raises(StoreBusy, match=r"in use by pdscope process \d+ \(since .*\); stop it"):
        Store.open(store.path)


def test_a_directory_can_be_opened_again_once_closed_also_after_use_from_threads(tmp_path: Path) -> None:
    import threading

    first = Store.open(tmp_path / "one")
    thread = threading.Thread(target=lambda: first.insert_traces([export({})]))
    thread.start()
    thread.join()
    first.close()
    second = Store.open(tmp_path / "two")
    second.close()
    again = Store.open(tmp_path / "one")
    assert again.query("SELECT count() FROM spans") == [(1,)]
    assert again.last_sequence == 1
    again.close()


def test_a_store_written_by_a_newer_release_is_refused(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "data")
    store.insert("schema_migrations", [[9999, "from_the_future"]], ["number", "name"])
    store.close()
    with pytest.raises(StoreTooNew, match=r"schema 9999, this pdscope knows up to"):
        Store.open(tmp_path / "data")


def test_migrations_are_numbered_once_and_say_what_they_are_for() -> None:
    numbers = [migration.number for migration in migrations()]
    assert numbers == sorted(set(numbers))
    assert all(migration.sql.startswith("-- ") for migration in migrations())


def test_a_directory_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    with pytest.raises(StoreError, match=r"cannot write the data directory .*file.*: .*give --data"):
        Store.open(blocked)


def test_the_running_process_tells_its_rest_address(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "data")
    store.announce("http://127.0.0.1:1234")
    assert running_api(tmp_path / "data") == "http://127.0.0.1:1234"
    store.close()
    assert running_api(tmp_path / "data") is None


def test_a_failed_insert_stores_nothing_of_the_batch(store: Store) -> None:
    from collector.errors import BadBody

    with pytest.raises(BadBody, match="not an OTLP trace export"):
        store.insert_traces([export({}), export({})[:-7]])
    assert store.query("SELECT count() FROM spans") == [(0,)]
    assert store.insert_traces([export({})]).spans == 1


def test_bodies_reach_the_engine_without_a_file_on_disk(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed leaves no prompts behind."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    store.insert_traces([export({"a": "b"})])
    assert store.query("SELECT count() FROM spans") == [(1,)]


def test_without_a_file_in_memory_an_insert_fails_as_a_store_and_works_later(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr("os.memfd_create", none_left)
        with pytest.raises(StoreError, match="Too many open files"):
            store.insert_traces([export({})])
    store.insert_traces([export({})])
    assert store.query("SELECT count() FROM spans") == [(1,)]


def test_where_files_in_memory_have_no_name_a_file_on_disk_is_used(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collector.store.otlp_insert._FILES", "/nowhere")
    store.insert_traces([export({})])
    assert store.query("SELECT count() FROM spans") == [(1,)]


def test_a_store_that_cannot_be_asked_for_the_next_number_fails_as_a_store(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a server that is away does: it is asked before anything is sent."""

    def away(*_: object) -> int:
        raise OperationalError("Connection refused")

    for asked in ("next_sequence", "last_sequence"):
        monkeypatch.setattr(store._engine, asked, away)
    with pytest.raises(StoreError, match="Connection refused"):
        store.insert_traces([export({})])
    with pytest.raises(StoreError, match="Connection refused"):
        _ = store.last_sequence
