"""Accelerators that served requests, and for how long: as the workers say, or as the question says."""

from collections.abc import Iterable
from typing import Any

from analyzer.slo.measured import Measured
from analyzer.slo.rows import Rows
from collector.sql import read_sql

HOW_TO_SAY = "set OTEL_RESOURCE_ATTRIBUTES=pd.gpus=N on each, or give gpus="


class Accelerators:
    """How many accelerators each worker has (`pd.gpus`), unless one number is supplied for all of them."""

    def __init__(self, store: Rows, workers: Iterable[str], supplied: float | None = None):
        """Read what the workers say. Raises StoreError."""
        self.supplied = supplied
        asked: dict[str, Any] = {"workers": sorted(set(workers) - {""})}
        rows = store.rows(read_sql(__file__, "gpus"), asked) if asked["workers"] else []
        self._of = {row["worker"]: row["gpus"] for row in rows}

    def count(self, workers: Iterable[str], all_of_them: bool = True) -> Measured:
        """Accelerators of some workers; a supplied number is for all that served the question together."""
        if self.supplied is not None:
            if all_of_them:
                return Measured(self.supplied, "supplied")
            return Measured.unknown("the supplied accelerators are those of all groups together")
        named = set(workers) - {""}
        if not named:
            return Measured.unknown("no worker is known to have served these requests")
        silent = sum(not self._of.get(worker) for worker in named)
        if silent:
            return Measured.unknown(f"{silent} of {len(named)} workers do not say pd.gpus; {HOW_TO_SAY}")
        return Measured(sum(self._of[worker] for worker in named), "observed")

    def hours(self, workers: Iterable[str], seconds: float, all_of_them: bool = True) -> Measured:
        """Accelerator-hours over a time: every accelerator counts for the whole of it, busy or idle."""
        found = self.count(workers, all_of_them)
        if found.value is None:
            return found
        return Measured(found.value * seconds / 3600, found.source)
