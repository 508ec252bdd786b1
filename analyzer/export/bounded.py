"""Keeps label values of metrics to a bounded set: what comes after the limit is counted as `other`."""

MAX_MODELS = 50
MAX_SERIES = 2_000
OTHER = "other"


class Bounded:
    """Lets the first `limit` distinct values through, then the limit's name instead."""

    def __init__(self, limit: int = MAX_MODELS):
        self._limit = limit
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        """Return the value, or `other` once too many were seen."""
        if value in self._known:
            return value
        if len(self._known) >= self._limit:
            return OTHER
        self._known.add(value)
        return value
