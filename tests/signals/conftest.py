import gc
import itertools
from collections.abc import Callable, Iterator

import pytest

from analyzer.assemble.rules_table import write_rules
from analyzer.assemble.scratch import Scratch
from analyzer.signals import write_signal_rules
from collector.engines import ADAPTERS
from collector.engines.rules import Role
from collector.store import Store
from tests.signals.otlp import ns

_NAMES = itertools.count()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = Store.open(tmp_path_factory.mktemp("store"))
    write_signal_rules(opened, ADAPTERS)
    roles = [("set-to-decode", Role.DECODE, True), ("(?i)prefill", Role.PREFILL, False)]
    write_rules(opened, Scratch(opened), ADAPTERS, roles)
    yield opened
    opened.close()
    gc.collect()


@pytest.fixture
def worker() -> str:
    """A worker's name that no other test uses."""
    return f"worker-{next(_NAMES)}"


@pytest.fixture
def points(store: Store) -> Callable[..., list[dict]]:
    """Stored points of a worker, duplicates removed."""
    return lambda worker, metric="": store.rows(
        "SELECT * FROM signals FINAL WHERE worker = {w:String} AND ({m:String} = '' OR metric = {m:String}) "
        "ORDER BY metric, time_ns",
        {"w": worker, "m": metric},
    )


@pytest.fixture
def signals(store: Store) -> Callable[..., list[dict]]:
    """Pool signals of a worker in (T0 + after, T0 + upto]."""

    def read(worker: str, *wanted: str, after: float = 0, upto: float = 3600) -> list[dict]:
        return store.rows(
            "SELECT * FROM pool_signals(from_ns = {a:Int64}, to_ns = {b:Int64}, wanted = {s:Array(String)}) "
            "WHERE worker = {w:String} ORDER BY signal, part, time_ns, series",
            {"a": ns(after), "b": ns(upto), "s": list(wanted), "w": worker},
        )

    return read
