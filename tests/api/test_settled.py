"""When an answer may call itself settled."""

import math

import pytest
from prometheus_client import CollectorRegistry

from analyzer.api.services import Readiness, Services
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import EVERYTHING
from collector.settings import Settings
from collector.store.store import Store


def _settled(store: Store, waiting: int) -> bool:
    services = Services(
        store=store,
        objectives=Objectives,
        importer=None,
        registry=CollectorRegistry(),
        ready=lambda: Readiness(True),
        settings=Settings(),
        waiting=lambda: waiting,
    )
    return services.desk.ask(EVERYTHING, Objectives()).settled


def test_nothing_is_settled_while_acknowledged_bytes_wait_to_be_stored(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # other tests stored something a moment ago
    monkeypatch.setattr(store, "_stored_at", -math.inf)
    assert _settled(store, waiting=0)
    assert not _settled(store, waiting=1)
