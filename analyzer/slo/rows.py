"""The part of the store that questions need."""

from collections.abc import Mapping
from typing import Any, Protocol


class Rows(Protocol):
    """Answers SELECTs."""

    def rows(self, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Rows of a SELECT as dictionaries. Raises StoreError."""
        ...
