"""Wall-clock instants that never step within one request."""

import time


class SteadyClock:
    """Unix nanoseconds read once, then carried on by the monotonic clock.

    A step of the wall clock during a request can then not bend its TTFT.
    """

    __slots__ = ("_offset",)

    def __init__(self) -> None:
        self._offset = time.time_ns() - time.monotonic_ns()

    def now(self) -> int:
        """Unix time in nanoseconds."""
        return time.monotonic_ns() + self._offset
