import gc
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from analyzer.assemble.assembler import Assembler
from collector.store import Store
from tests.assemble.otlp import clear, rows
from tests.captures.load import bodies

Rows = list[dict]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = Store.open(tmp_path_factory.mktemp("store"))
    yield opened
    opened.close()
    # Clients of ended threads still hold the engine until they are collected; it serves one path at a time.
    gc.collect()


@pytest.fixture(scope="module")
def assembled(store: Store) -> Callable[[str], Rows]:
    """The rows of a capture, its exports stored a few at a time in order of arrival."""

    @cache
    def of(name: str) -> Rows:
        clear(store)
        exports = bodies(name)
        for at in range(0, len(exports), 20):
            store.insert_traces(exports[at : at + 20])
        Assembler(store).catch_up()
        return list(rows(store).values())

    return of
