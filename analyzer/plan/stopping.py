"""Giving up a simulation that nobody waits for any longer, as when the process ends."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

OFTEN = 8192
"""Steps of a simulation between two looks, some tens of milliseconds."""

_asked: ContextVar[Callable[[], bool]] = ContextVar("asked to stop")


class Stopped(Exception):
    """Whoever asked for the simulation takes it back."""


@contextmanager
def stoppable(asked: Callable[[], bool]) -> Iterator[None]:
    """Within, in this thread, `check` raises once `asked` says so."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


def check() -> None:
    """Raise Stopped when the work is no longer wanted."""
    asked = _asked.get(None)
    if asked is not None and asked():
        raise Stopped
