import gc
from collections.abc import Iterator

import pytest

from collector.store import Store


@pytest.fixture(scope="package")
def open_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store.open(tmp_path_factory.mktemp("store"))
    yield store
    store.close()
    # Clients of ended threads still hold the engine until they are collected; it serves one path at a time.
    gc.collect()
