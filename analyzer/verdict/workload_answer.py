"""What the traffic was: arrivals, prompts, answers, concurrency, turns."""

from dataclasses import dataclass

import numpy as np

from analyzer.verdict.conversations import Conversations, conversations
from analyzer.verdict.diagnosis import Diagnosis
from analyzer.verdict.groups import under_way
from analyzer.verdict.tables import Floats, Index


@dataclass(frozen=True)
class Distribution:
    """Counts by powers of two, and percentiles."""

    count: int
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None
    buckets: dict[str, int]


@dataclass(frozen=True)
class Arrivals:
    """How requests arrive: rate and burstiness."""

    requests: int
    per_s: float
    peak_per_s: float | None
    interarrival_cv: float | None
    dispersion: float | None


@dataclass(frozen=True)
class Workload:
    """Traffic of one group of requests."""

    key: str | None
    arrivals: Arrivals
    input_tokens: Distribution
    cached_tokens: Distribution
    output_tokens: Distribution
    concurrency: Distribution
    conversations: Conversations


def workload(found: Diagnosis, key: str | None, rows: Index) -> Workload:
    """Describe some of the window's requests."""
    s = found.situation
    r = s.requests
    seconds = (s.loaded.scope.to_ns - s.loaded.scope.from_ns) / 1e9
    return Workload(
        key,
        arrivals(np.sort(r.start[rows]), seconds),
        distribution(r.input_tokens[rows]),
        distribution(r.cached_tokens[rows]),
        distribution(r.output_tokens[rows]),
        distribution(under_way(found)[rows].astype(float)),
        conversations(s, rows),
    )


def arrivals(start: Floats, seconds: float) -> Arrivals:
    """Burstiness of sorted arrival times (seconds) over a window."""
    if len(start) < 3:
        return Arrivals(len(start), len(start) / seconds, None, None, None)
    gaps = np.diff(start)
    span = max(int(np.ceil(start[-1] - start[0])), 1)
    counts = np.histogram(start, np.arange(span + 1) + start[0])[0]
    cv = float(gaps.std() / gaps.mean()) if gaps.mean() > 0 else None
    dispersion = float(counts.var() / counts.mean()) if counts.mean() > 0 else None
    return Arrivals(len(start), len(start) / seconds, float(counts.max()), cv, dispersion)


def distribution(values: Floats) -> Distribution:
    """Percentiles and counts by powers of two of the finite values."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Distribution(0, None, None, None, None, None, {})
    p50, p95, p99 = (float(v) for v in np.percentile(known, (50, 95, 99)))
    edge = np.ceil(np.log2(np.maximum(known, 1))).astype(int)
    found, many = np.unique(edge, return_counts=True)
    buckets = {str(2**e): int(n) for e, n in zip(found.tolist(), many.tolist(), strict=True)}
    return Distribution(len(known), float(known.mean()), p50, p95, p99, float(known.max()), buckets)
