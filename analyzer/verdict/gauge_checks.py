"""What the engines' own metrics say, held against the spans: means, floors, and how far off they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from analyzer.signals import HistogramSummary, over_workers
from analyzer.verdict.situation import Situation


@dataclass(frozen=True)
class Told:
    """What a metric of one pool says of transfers: its mean, and the share of its values above a bound."""

    metric: str
    unit: str
    mean: float
    histogram: HistogramSummary | None
    high: float
    """Highest reading of a gauge; of a histogram the mean."""

    def above(self, bound: float) -> bool:
        """Whether it claims values above a bound: on average, in one reading, or in whole buckets."""
        if self.high > bound:
            return True
        item = self.histogram
        if item is None or not item.buckets or not item.count:
            return False
        beyond = sum(count for count, low in zip(item.buckets[1:], item.bounds, strict=True) if low >= bound)
        return beyond > NOTICED * item.count


NOTICED = 0.1
"""Share of a histogram's values above a line from which on they are no matter of single odd ones."""

_TRANSFER_TIME = ("kv_transfer_latency_ms", "xfer_time_seconds", "kv_transfer_latency_seconds")
_TRANSFER_RATE = ("kv_transfer_speed_gb_s",)


def by_pool(s: Situation) -> list[HistogramSummary]:
    """The engines' histograms, each metric of each pool as one."""
    groups: dict[tuple[str, str], list[HistogramSummary]] = {}
    for item in s.loaded.histograms:
        if item.count:
            groups.setdefault((item.metric, item.pool), []).append(item)
    merged = (over_workers(members) for members in groups.values())
    return [item for item in merged if item is not None]


def told_of_transfers(s: Situation) -> list[Told]:
    """Metrics of the time or the rate of transfers, histograms and the gauges that older engines export."""
    out = [
        Told(item.metric, item.unit, item.mean, item, item.mean)
        for item in by_pool(s)
        if item.mean and (is_transfer_time(item.metric) or is_transfer_rate(item.metric))
    ]
    return out + [
        Told(item.metric, item.unit, item.mean, None, item.high) for item in s.loaded.last_transfers
    ]


def in_ms(item: HistogramSummary | Told) -> float | None:
    """Factor from the metric's unit to milliseconds; None when it is no duration."""
    if item.metric.endswith("_seconds") or item.unit == "s":
        return 1000.0
    return 1.0 if item.metric.endswith("_ms") or item.unit == "ms" else None


MOSTLY_COUNTED = 0.8
"""Share of the transfers by the spans that a histogram must hold for its mean to be compared with theirs."""


def counts_most(item: Told, s: Situation) -> bool:
    """Whether a metric holds most transfers of the window: what ended since its last reading it does not."""
    seen = np.isfinite(s.transfers.seconds[s.requests.inside[s.transfers.request]]).sum()
    return item.histogram is None or item.histogram.count >= MOSTLY_COUNTED * float(seen)


def mean_transfer_s(s: Situation) -> float | None:
    """Mean transfer time by the spans."""
    took = s.transfers.seconds[s.requests.inside[s.transfers.request]]
    took = took[np.isfinite(took)]
    return float(took.mean()) if len(took) else None


def mean_rate_gb_s(s: Situation) -> float | None:
    """Mean of bytes ÷ time over transfers."""
    t = s.transfers
    rate = (t.bytes / t.seconds / 1e9)[s.requests.inside[t.request]]
    rate = rate[np.isfinite(rate)]
    return float(rate.mean()) if len(rate) else None


def is_transfer_time(metric: str) -> bool:
    """Whether a metric claims to be the time of a KV transfer."""
    return metric.endswith(_TRANSFER_TIME)


def is_transfer_rate(metric: str) -> bool:
    """Whether a metric claims to be the rate of a KV transfer, 1e9 bytes/s."""
    return metric.endswith(_TRANSFER_RATE)


def reported_over_true(s: Situation) -> dict[str, Any]:
    """Means, floors of saturated quantiles, and reported ÷ true, by metric name."""
    means: dict[str, float] = {}
    floors: dict[str, float] = {}
    ratios: dict[str, float] = {}
    took, rate = mean_transfer_s(s), mean_rate_gb_s(s)
    for item in by_pool(s):
        factor, mean = in_ms(item), item.mean
        if factor is not None and mean is not None:
            means.setdefault(item.metric, mean * factor)
            if item.saturated and item.bounds:
                floors.setdefault(item.metric, item.bounds[-1] * factor)
    for told in told_of_transfers(s):
        factor = in_ms(told)
        if is_transfer_time(told.metric) and took and factor is not None:
            ratios[told.metric] = told.mean * factor / (took * 1000.0)
        if is_transfer_rate(told.metric) and rate:
            ratios[told.metric] = told.mean / rate
    found = {"mean_from_sum_count_ms": means, "quantile_floor_ms": floors, "reported_over_true_ratio": ratios}
    return {name: values for name, values in found.items() if values}
