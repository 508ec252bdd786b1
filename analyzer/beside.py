"""Statements that run beside each other: planning one takes longer than reading what a short window holds."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

Read = TypeVar("Read")
_THREADS = ThreadPoolExecutor(2, "read-beside")
"""They keep their handles of a store, so all callers share them; what they run must not come here itself."""


class Beside:
    """Reads under way beside the caller's own."""

    def __init__(self) -> None:
        self.under_way: list[Future[Any]] = []

    def __call__(self, read: Callable[..., Read], *asked: Any) -> "Future[Read]":
        """Begin a read; its result when asked for."""
        begun = _THREADS.submit(read, *asked)
        self.under_way.append(begun)
        return begun


@contextmanager
def beside() -> Iterator[Beside]:
    """Reads that have all ended when this does, also by an error: a store may be closed then."""
    reads = Beside()
    try:
        yield reads
    finally:
        wait(reads.under_way)
