"""Groups of requests by how many were under way as each one started."""

from collections import defaultdict
from typing import Any

from analyzer.slo.attainment import WINDOWS
from analyzer.slo.efficiency import efficiency
from analyzer.slo.group_budgets import group_budget
from analyzer.slo.groups import Group, added_up, group
from analyzer.slo.measured import Measured
from analyzer.slo.objectives import Objectives
from analyzer.slo.rows import Rows
from analyzer.slo.scope import Scope
from collector.sql import read_sql

EDGES = (1, 8, 32, 128, 512)
"""Lower edges of the buckets of requests under way."""
CONTEXT_NS = 900 * 1_000_000_000
"""How long before the window requests are looked for that were still under way in it."""


def by_concurrency(store: Rows, scope: Scope, objectives: Objectives, only_tenant: str = "") -> list[Group]:
    """Groups in order of concurrency. Look-backs and periods that reach beyond the window are None.

    only_tenant: count its requests alone as under way, for readers who may not know of others'.
    Raises StoreError.
    """
    spans = [*(span for span in WINDOWS.values() if span <= scope.seconds), 0]
    starts = [scope.to_ns - span * 1_000_000_000 if span else 0 for span in spans]
    params: dict[str, Any] = {**scope.params(), **objectives.params(), "window_starts": starts}
    params |= {"edges": list(EDGES), "context_ns": max(0, scope.from_ns - CONTEXT_NS)}
    params["only_tenant"] = only_tenant
    of_bucket: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in store.rows(read_sql(__file__, "concurrency_counts"), params):
        of_bucket[row["bucket"]].append(row)
    no_hours = Measured.unknown("accelerator-hours are not kept by concurrency")
    no_bytes = Measured.unknown("network bytes are not kept by concurrency")
    groups = []
    for bucket, rows in sorted(of_bucket.items()):
        counts = added_up(rows, "bucket")[(bucket,)]
        budget = group_budget(rows, spans, objectives)
        used = efficiency(counts, no_hours, no_bytes)
        groups.append(group(bucket_name(bucket), counts, scope.seconds, budget, used))
    return groups


def bucket_name(bucket: int) -> str:
    """What a bucket (1-based) is called: `8-31`, or `512+` for the last."""
    low = EDGES[bucket - 1]
    return f"{low}-{EDGES[bucket] - 1}" if bucket < len(EDGES) else f"{low}+"
