"""The store and the server of tests.api, for this folder."""

from tests.api.conftest import client, make_client, open_store, store

__all__ = ["client", "make_client", "open_store", "store"]
