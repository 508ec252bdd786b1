"""Several analyzers on one store: one that stood still and comes back, and what others do meanwhile."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from analyzer.assemble import shared
from analyzer.assemble.crew import SHARES, Crew, Duty
from analyzer.assemble.scratch import Scratch
from analyzer.assemble.shared import SharedAssembler
from collector.errors import StoreError
from collector.store import Store, keep_rows
from tests.assemble.otlp import body
from tests.assemble.test_arrival import native

ALL = tuple(range(SHARES))


class Told(Crew):
    """A crew that is told what is whose."""

    told = Duty()

    def duty(self) -> Duty:
        return self.told


@contextmanager
def analyzer(store: Store, duty: Duty, grace_s: float = 3600.0) -> Iterator[SharedAssembler]:
    crew = Told(store)
    crew.told = duty
    made = SharedAssembler(store, crew, grace_s=grace_s)
    try:
        yield made
    finally:
        made.stop()


def drain(assembler: SharedAssembler) -> None:
    while assembler.step():
        pass


def kept(store: Store) -> list[tuple]:
    return store.query(
        "SELECT count(), uniqExact(request_key), sum(spans), sum(duplicate_spans) FROM requests FINAL"
        " WHERE tombstone = 0"
    )


def test_one_that_named_and_stood_still_neither_takes_spans_away_nor_adds_them_twice(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "STEP_SEQUENCES", 1)
    for number in (1, 2, 3):
        store.insert_traces([body(native(number))])
    with analyzer(store, Duty(True)) as first, analyzer(store, Duty()) as second:
        clear = first._clear

        def stand_still() -> None:
            clear()
            first._crew.told, second._crew.told = Duty(), Duty(True, ALL)
            drain(second)

        monkeypatch.setattr(first, "_clear", stand_still)
        with pytest.raises(StoreError, match="another may name"):
            first.step()
        store.insert_traces([body(native(1)[:1])])
        drain(second)
        assert store.query("SELECT count() FROM span_facts") == [(10,)]
        assert kept(store) == [(3, 3, 9, 1)]


def test_one_that_was_silent_comes_back_as_the_last_and_waits(store: Store) -> None:
    first, second = Crew(store), Crew(store)
    store.command(
        "INSERT INTO analyzers SELECT {name:String}, now64(3) - 100, now64(3) - 50, 0", {"name": first.name}
    )
    second._beat()
    first._beat()
    assert first.present == (second.name, first.name)
    assert first.duty() == Duty()
    first._beat()
    assert first.present == (second.name, first.name)


def test_a_store_that_one_analyzer_alone_worked_on_is_as_far_as_that_was(store: Store) -> None:
    store.insert_traces([body(native(1))])
    done = store.last_sequence
    store.insert("assembly_progress", [[0, done, done]], ["id", "ingest_sequence", "version"])
    with analyzer(store, Duty()) as assembler:
        assert assembler.progress().taken == done


def test_offsets_that_others_changed_count_without_new_spans_and_after_a_failure(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.insert_traces([body(native(1))])
    queue = "SELECT phase_until_ns[3] FROM requests FINAL"
    with analyzer(store, Duty(True, ALL)) as assembler:
        drain(assembler)
        assert store.query(queue) == [(5_000_000,)]
        store.command(
            "INSERT INTO clock_offsets SELECT toStartOfFiveMinutes(first_bucket), 'p:0', 9, -2000000, 0, 0, 0"
            " FROM requests FINAL"
        )
        rebuild = assembler._rebuild

        def fail(upto: int) -> None:
            monkeypatch.setattr(assembler, "_rebuild", rebuild)
            raise StoreError("gone")

        monkeypatch.setattr(assembler, "_rebuild", fail)
        assembler._compared = 0.0
        with pytest.raises(StoreError, match="gone"):
            assembler.step()
        assembler._compared = 0.0
        drain(assembler)
        assert store.query(queue) == [(7_000_000,)]


def test_what_is_judged_again_after_a_share_came_back_is_newer_than_what_others_wrote(store: Store) -> None:
    told = {"dynamo.trace.request_id": "r-1"}
    leg = replace(native(1, time.time_ns() - 100 * 10**9)[1], name="dynamo.request.trace", attributes=told)
    with analyzer(store, Duty(), grace_s=0.0) as late, analyzer(store, Duty(True, ALL)) as other:
        store.insert_traces([body([leg])])
        for number in (2, 3):
            store.insert_traces([body(native(number))])
        drain(other)
        late._crew.told = Duty(False, ALL)
        late.step()
        version = store.query("SELECT version FROM requests FINAL WHERE has(notes, 'no_request_span')")
        assert version == [(store.last_sequence,)]


def scratches(store: Store) -> set[str]:
    return {row[0] for row in store.query("SELECT name FROM system.databases WHERE name LIKE '%_scratch_%'")}


def test_what_a_killed_analyzer_left_goes_and_what_a_living_one_has_stays(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "LEFT_S", 0)
    killed, young, alive = Crew(store), Crew(store), Crew(store)
    for crew in (killed, young, alive):
        Scratch(store, crew.name)
    said = "INSERT INTO analyzers SELECT {name:String}, now64(3) - 900, now64(3) + {ahead:Int32}, 0"
    store.command(said, {"name": killed.name, "ahead": -700})
    store.command(said, {"name": alive.name, "ahead": 60})
    with analyzer(store, Duty(True, ALL)) as leader, analyzer(store, Duty()) as idle:
        own = {leader._scratch.database, idle._scratch.database}
        leader._scratch.drop_left(600)
        assert len(scratches(store)) == 5, "all were made just now"
        drain(leader)
        assert {name.rpartition("_")[2] for name in scratches(store) - own} == {alive.name}
    store.command("DROP DATABASE {left:Identifier}", {"left": next(iter(scratches(store)))})


def test_one_whose_tables_were_taken_for_left_makes_them_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.insert_traces([body(native(1))])
    with analyzer(store, Duty(True, ALL)) as assembler:
        fill = assembler._do

        def stand_still(name: str, params: dict[str, object]) -> None:
            if name == "batch_traces":
                monkeypatch.setattr(assembler, "_do", fill)
                assembler._scratch.drop()
            fill(name, params)

        monkeypatch.setattr(assembler, "_do", stand_still)
        with pytest.raises(StoreError):
            assembler.step()
        drain(assembler)
        assert kept(store) == [(1, 1, 3, 0)]


def test_rules_that_two_write_at_once_are_there_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    insert = store.insert
    rows, columns = [["m", "l", "n"], ["m", "l", "o"]], ["metric", "label", "name"]

    def another_first(*arguments: object) -> None:
        monkeypatch.setattr(store, "insert", insert)
        insert(*arguments)
        insert(*arguments)

    before = store.query("SELECT metric, label, name FROM info_rules")
    try:
        monkeypatch.setattr(store, "insert", another_first)
        keep_rows(store, "info_rules", rows, columns)
        assert store.query("SELECT count() FROM info_rules") == [(2,)]
    finally:
        keep_rows(store, "info_rules", before, columns)


def test_rules_that_are_there_are_left_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with analyzer(store, Duty()):
        said: list[str] = []
        command = store.command
        monkeypatch.setattr(
            store, "command", lambda sql, params=None: said.append(sql) or command(sql, params)
        )
        with analyzer(store, Duty()):
            pass
    assert not [sql for sql in said if "TRUNCATE" in sql and "scratch" not in sql]
