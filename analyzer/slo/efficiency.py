"""What served requests cost: requests, tokens and network bytes per accelerator-hour and per good request.

A good request met both objectives. Tokens and bytes are those of all requests, good or not: what was spent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analyzer.slo.measured import Measured


@dataclass(frozen=True)
class Efficiency:
    """Amounts, and the two ratios of each by name. Bytes are KV bytes between workers."""

    gpu_hours: Measured
    network_bytes: Measured
    per_gpu_hour: dict[str, Measured]
    per_good_request: dict[str, Measured]


def efficiency(row: Mapping[str, Any], gpu_hours: Measured, moved: Measured) -> Efficiency:
    """Relate one row of counts to its accelerator-hours and to the bytes it moved."""
    good = Measured(row.get("met", 0), "observed")
    amounts = {
        "requests": Measured(row.get("answered", 0), "observed"),
        "input_tokens": _tokens(row, "input"),
        "output_tokens": _tokens(row, "output"),
        "network_bytes": moved,
    }
    per_hour = {"good_requests": good, **amounts}
    per_good = {**amounts, "gpu_seconds": _seconds(gpu_hours)}
    no_good = Measured.unknown("no request met both objectives")
    return Efficiency(
        gpu_hours,
        moved,
        {name: amount.per(gpu_hours) for name, amount in per_hour.items()},
        {name: amount.per(good) if good.value else no_good for name, amount in per_good.items()},
    )


def network_bytes(row: Mapping[str, Any]) -> Measured:
    """KV bytes that left for another worker; at least so many when some hand-offs do not say."""
    sized, unsized = row.get("sized", 0), row.get("unsized", 0)
    if sized:
        reason = f"{unsized:,} requests have hand-offs of unknown size" if unsized else None
        return Measured(row["moved_bytes"], "bounded" if unsized else "observed", reason)
    if unsized:
        return Measured.unknown(f"no hand-off of {unsized:,} requests says how many bytes it moved")
    if row.get("total") and row.get("within") == row["total"]:
        return Measured(0.0, "derived", "every request stayed on one worker")
    return Measured.unknown("no KV hand-off was seen, and not every request is known to stay on one worker")


def _tokens(row: Mapping[str, Any], side: str) -> Measured:
    total, uncounted = row.get(f"{side}_tokens", 0) or 0, row.get(f"uncounted_{side}", 0)
    if not uncounted:
        return Measured(total, "observed")
    if not total:
        return Measured.unknown(f"no answered request says its {side} tokens")
    return Measured(total, "bounded", f"{uncounted:,} answered requests do not say their {side} tokens")


def _seconds(hours: Measured) -> Measured:
    return hours if hours.value is None else Measured(hours.value * 3600, hours.source, hours.reason)
