"""Reads the `.sql` files that live beside the code that runs them."""

from functools import cache
from pathlib import Path


@cache
def read_sql(module_file: str, name: str) -> str:
    """Return the statement in `<name>.sql` beside `module_file` (pass `__file__`), without a trailing
    semicolon.
    """
    return (Path(module_file).parent / f"{name}.sql").read_text("utf-8").strip().rstrip(";")
