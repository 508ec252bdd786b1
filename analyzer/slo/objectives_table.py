"""Keeps the table `objectives` what the process judges by, for dashboards."""

import time

from analyzer.slo.objectives import Objectives
from collector.store import Store

_COLUMNS = [
    *("position", "name", "model", "route", "tenant", "input_bucket"),
    *("ttft_seconds", "tpot_seconds", "target", "period_days"),
]


def write_objectives(store: Store, objectives: Objectives) -> bool:
    """Write the objectives as a new version when they differ from the newest; say whether they did.

    Raises StoreError.
    """
    rows = [
        (
            position,
            item.name,
            item.selector.model,
            item.selector.route,
            item.selector.tenant,
            item.selector.input_bucket,
            item.ttft,
            item.tpot,
            item.target,
            item.period_days,
        )
        for position, item in enumerate(objectives.items, start=1)
    ]
    if [tuple(row) for row in store.query("SELECT * FROM current_objectives")] == rows:
        return False
    version = time.time_ns()
    store.insert("objectives", [[*row, version] for row in rows], [*_COLUMNS, "version"])
    return True
