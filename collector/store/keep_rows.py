"""Tables that hold what the code says, such as the adapters' rules."""

from collections.abc import Sequence

from collector.store.store import Store


def keep_rows(store: Store, table: str, rows: Sequence[Sequence[object]], columns: Sequence[str]) -> None:
    """Make a table hold these rows, leaving it alone when it does: others may be reading it."""
    found = store.query(f"SELECT {', '.join(columns)} FROM {table}")
    if sorted(map(_plain, found)) != sorted(map(_plain, rows)):
        store.command(f"TRUNCATE TABLE {table}")
        store.insert(table, rows, columns)


def _plain(value: object) -> str:
    """A value's text, whether it comes from the store or goes there."""
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_plain(item) for item in value)}]"
    return f"{value:g}" if isinstance(value, (int, float)) else repr(value)
