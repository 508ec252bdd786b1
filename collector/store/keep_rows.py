"""Tables that hold what the code says, such as the adapters' rules."""

import random
import time
from collections.abc import Sequence

from collector.errors import StoreError
from collector.store.store import Store

_TRIES = 20
_PAUSE_S = 0.2


def keep_rows(store: Store, table: str, rows: Sequence[Sequence[object]], columns: Sequence[str]) -> None:
    """Make a table hold these rows, leaving it alone when it does: others may be reading it.

    Several processes may do so at once, as when all start together, and then each adds its rows to the
    others': whoever wrote looks again. Raises StoreError when others keep writing something else.
    """
    wanted = sorted(map(_plain, rows))
    for _ in range(_TRIES):
        if _held(store, table, columns) == wanted:
            return
        store.command(f"TRUNCATE TABLE {table}")
        store.insert(table, rows, columns)
        if _held(store, table, columns) == wanted:
            return
        time.sleep(random.uniform(0, _PAUSE_S))
    raise StoreError(f"{table} does not keep this release's rules; end analyzers of other releases")


def _held(store: Store, table: str, columns: Sequence[str]) -> list[str]:
    return sorted(map(_plain, store.query(f"SELECT {', '.join(columns)} FROM {table}")))


def _plain(value: object) -> str:
    """A value's text, whether it comes from the store or goes there."""
    if isinstance(value, dict):
        # a tuple with names
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_plain(item) for item in value)}]"
    return f"{value:g}" if isinstance(value, (int, float)) else repr(value)
