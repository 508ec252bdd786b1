"""Statements that run beside each other: planning one takes longer than reading what a short window holds."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic, TypeVar

Read = TypeVar("Read")
_THREADS = ThreadPoolExecutor(2, "read-beside")
"""They keep their handles of a store, so all callers share them."""


class Reading(Generic[Read]):
    """A read that a thread takes up, or whoever asks for its result before one was free."""

    def __init__(self, read: Callable[[], Read]):
        self._read = read
        self._begun: Future[Read] = _THREADS.submit(read)

    def result(self) -> Read:
        """What was read; nobody waits behind what others read."""
        if self.given_up():
            own: Future[Read] = Future()
            own.set_result(self._read())
            self._begun = own
        return self._begun.result()

    def given_up(self) -> bool:
        """Whether no thread took it up, and none will."""
        return self._begun.cancel()

    def ended(self) -> None:
        """Wait for it where it runs, else give it up."""
        if not self.given_up():
            wait([self._begun])


class Beside:
    """Reads under way beside the caller's own."""

    def __init__(self) -> None:
        self.readings: list[Reading[Any]] = []

    def __call__(self, read: Callable[..., Read], *asked: Any) -> Reading[Read]:
        """Begin a read; its result when asked for, also after the block."""
        begun = Reading(partial(read, *asked))
        self.readings.append(begun)
        return begun


@contextmanager
def beside() -> Iterator[Beside]:
    """None of the reads runs when this ends, also by an error: a store may be closed then."""
    reads = Beside()
    try:
        yield reads
    finally:
        for reading in reads.readings:
            reading.ended()
