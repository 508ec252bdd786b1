"""One embedded store for the tests of this folder: an engine opens one path at a time in a process."""

from tests.api.conftest import open_store, store

__all__ = ["open_store", "store"]
