"""Too many names of a kind become one."""

from pathlib import Path

import pytest

from analyzer.assemble.assembler import Assembler
from analyzer.assemble.names import AGE_S, NameLimits, Names
from collector.store import Store
from tests.chaos.load import requests_body

NOW = 1_790_000_000_000_000_000


def _insert(store: Store, *models: str) -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    export = ExportTraceServiceRequest.FromString(requests_body(list(models), NOW))
    for span in export.resource_spans[0].scope_spans[0].spans:
        if span.name == "pd.request":
            model = span.attributes[0].value.string_value.partition("/")[0]
            span.attributes.add(key="gen_ai.request.model").value.string_value = model
    store.insert_traces([export.SerializeToString()])


def _models(store: Store) -> dict[str, str]:
    return dict(store.query("SELECT request_id, model FROM requests FINAL WHERE NOT tombstone"))


def test_models_over_the_limit_become_other_and_the_known_ones_keep_their_name(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    try:
        assembler = Assembler(store, names=NameLimits(models=2))
        _insert(store, "a/1", "b/1")
        assembler.catch_up()
        _insert(store, "c/1", "a/2", "d/1")
        assembler.catch_up()
        assert _models(store) == {"a/1": "a", "b/1": "b", "a/2": "a", "c/1": "__other__", "d/1": "__other__"}
        assert assembler.names.over["models"] >= 2

        again = Assembler(store, names=NameLimits(models=2))
        _insert(store, "b/2", "e/1")
        again.catch_up()
        assert (_models(store)["b/2"], _models(store)["e/1"]) == ("b", "__other__")
    finally:
        store.close()


def test_a_name_not_seen_for_a_day_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    class Empty:
        def query(self, *_: object) -> list[tuple[str, str]]:
            return []

    now = 0.0
    names = Names(Empty(), Empty(), NameLimits(routes=2), clock=lambda: now)  # type: ignore[arg-type]
    assert names._admit("routes", "old")
    now = 10.0
    assert names._admit("routes", "busy")
    assert not names._admit("routes", "new")
    now = AGE_S + 5
    assert names._admit("routes", "new")
    assert not names._admit("routes", "newer")
    assert names.known["routes"] == 2
