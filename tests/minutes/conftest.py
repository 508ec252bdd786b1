"""The store of tests.api, opened for this folder."""

from tests.api.conftest import open_store, store

__all__ = ["open_store", "store"]
