"""Whether both sides of hand-offs tell what they must agree on, and whether they do."""

from collections.abc import Iterable, Iterator

from analyzer.telemetry.check import Check, Kind, Severity
from analyzer.telemetry.read import Arrivals
from analyzer.verdict.causes.agreement import differences
from analyzer.verdict.tables import Worker

_MATTERS = "a mismatch of both sides is found before hand-offs fail only when both tell"


def fingerprints(found: Arrivals, workers: Iterable[Worker]) -> Iterator[Check]:
    """Workers whose fingerprint is not known, and pools that differ in theirs."""
    pools = {row["worker"]: row["pool"] for row in found.request_workers}
    pools |= {item.worker: item.pool for item in found.signals if item.signal != "up"}
    sides: dict[str, list[Worker]] = {"prefill": [], "decode": []}
    for worker in workers:
        if pools.get(worker.name) in sides:
            sides[pools[worker.name]].append(worker)
    if not all(sides.values()):
        return
    silent = sorted(worker.name for side in sides.values() for worker in side if not worker.agreed)
    if silent:
        says = f"{len(silent)} workers ({', '.join(silent[:2])}) do not tell block size, KV type, parallelism"
        fix = "labels: {pd_compat_tp: '8', …} of their scrape job, or pd.compat.* as resource attributes"
        yield Check("fingerprint_unknown", Kind.MISSING, Severity.INFO, "", silent[0], says, _MATTERS, fix)
    apart = {
        key: (one.agreed[key], other.agreed[key])
        for one in sides["prefill"]
        for other in sides["decode"]
        for key in differences(one, other)
    }
    for key, (prefill, decode) in sorted(apart.items()):
        says = f"prefill says {key} is {prefill}, decode says {decode}"
        fix = "start both sides with the same value"
        yield Check(
            "fingerprints_differ",
            Kind.FACT,
            Severity.WARNING,
            "",
            key,
            says,
            "hand-offs between them may fail or be read wrongly",
            fix,
        )
