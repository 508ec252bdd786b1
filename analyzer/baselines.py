"""What is normal for a request: prefill by tokens, transfer by bytes and descriptors, a decode step by batch.

Learned from healthy requests of the same model and worker class by a robust fit (see robust_fit: breakdown
point 1/2). Where too few are healthy, a supplied value (link rates) stands in, and says so. Queues have no
baseline but zero: waiting is never normal.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from analyzer.robust_fit import Fit, fit
from analyzer.verdict.tables import Account, Flags, Floats, Requests, Transfers, Transport

ENOUGH_HEALTHY = 20
"""Fewer healthy requests do not make a baseline."""
HEALTHY_SHARE = 0.2
"""Where fewer of the transfers are healthy, those are the few that a slow path let through."""
LARGER = 1.2
"""From this ratio of medians on, requests met or missed by how much they had to move."""
FAR_SLOWER = 10.0
"""Times what a kind of path takes at its least from which on no healthy path of that kind is as slow."""
LINK_USE = 0.7
"""Share of a line rate that a healthy transfer reaches."""
HANDSHAKE_S = 0.002
SUPPLIED_GB_S = {Transport.RDMA: 6.0, Transport.NVLINK: 50.0, Transport.SHM: 4.0, Transport.TCP: 1.0}
"""What a path of this kind reaches at least when it is well, 1e9 bytes/s: half of one 100 Gb/s port, a third
of a current NVLink generation, one core's copying, 10 Gb/s Ethernet. Used only when nothing was observed."""


class Source(StrEnum):
    """Where a baseline comes from."""

    OBSERVED = "observed"
    SUPPLIED = "supplied"
    UNHEALTHY = "observed, no healthy requests"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Baseline:
    """Expected seconds per row, where they come from, and the fit behind them."""

    expected: Floats
    source: Source
    fit: Fit | None = None


def healthy(requests: Requests) -> Flags:
    """Requests to learn from: met both objectives on the first attempt."""
    found: Flags = (requests.account == Account.MET) & (requests.attempts == 1)
    return found


def prefill_compute(requests: Requests) -> Baseline:
    """Expected prefill time: a + b · uncached tokens + c · uncached · total tokens (attention)."""
    uncached = np.maximum(requests.input_tokens - np.nan_to_num(requests.cached_tokens), 1.0)
    x = np.column_stack([np.ones(len(requests)), uncached, uncached * requests.input_tokens])
    y = np.where(requests.duration("prefill_compute") > 0, requests.duration("prefill_compute"), np.nan)
    return _learned(x, y, healthy(requests))


def decode_step(requests: Requests, batch: Floats, good: Flags | None = None) -> Baseline:
    """Expected time per output token: a + b · batch + c · context · batch. good: rows to learn from."""
    context = requests.input_tokens + np.nan_to_num(requests.output_tokens) / 2
    x = np.column_stack([np.ones(len(requests)), batch, batch * context])
    return _learned(x, requests.tpot, healthy(requests) if good is None else good)


def _learned(x: Floats, y: Floats, good: Flags) -> Baseline:
    usable = np.isfinite(y) & np.isfinite(x).all(axis=1)
    source = Source.OBSERVED
    if (good & usable).sum() < ENOUGH_HEALTHY:
        good, source = usable, Source.UNHEALTHY
    found = fit(x[good], y[good])
    if found is None:
        known = y[good & usable]
        middle = float(np.median(known)) if len(known) else np.nan
        return Baseline(np.full(len(y), middle), Source.UNKNOWN if not len(known) else source)
    return Baseline(found.predict(x), source, found)


def transfer(transfers: Transfers, requests: Requests, faster_path: Flags) -> Baseline:
    """Expected transfer time: overhead + bytes/rate, for the bytes that the consumer does not hold already.

    faster_path: transfers over TCP although the machines have a faster way: that way is what they are held
    to.
    A fit more than twice as slow as the known line allows was learned from a path that is slow itself: the
    line counts then. Where hardly any transfer is healthy, what this kind of path does at its least counts;
    so it does where the fit is far slower than that and healthy are those with few bytes, which any path lets
    through.
    """
    took, size = transfers.seconds, transfers.bytes
    held = np.nan_to_num(transfers.already_held_tokens / transfers.tokens)
    needed = size * (1 - np.clip(held, 0.0, 1.0))
    kind = np.where(faster_path, int(Transport.RDMA), transfers.transport)
    least = np.array([SUPPLIED_GB_S.get(Transport(number), np.nan) for number in range(len(Transport))])[kind]
    rate = np.where(np.isfinite(transfers.link_gb_s), LINK_USE * transfers.link_gb_s, least)
    by_line = HANDSHAKE_S + needed / (1e9 * rate)
    good = healthy(requests)[transfers.request] & np.isfinite(took) & np.isfinite(size) & ~faster_path
    if good.sum() >= max(ENOUGH_HEALTHY, HEALTHY_SHARE * np.isfinite(took).sum()):
        found = fit(np.column_stack([np.ones(int(good.sum())), size[good]]), took[good])
        if found is not None:
            learned = found.predict(np.column_stack([np.ones(len(took)), needed]))
            slow = ((learned > 2 * by_line) & np.isfinite(transfers.link_gb_s)) | faster_path
            rest = np.isfinite(took) & np.isfinite(size) & ~good
            if rest.any() and np.median(size[rest]) > LARGER * np.median(size[good]):
                slow |= learned > FAR_SLOWER * by_line
            return Baseline(np.where(slow, by_line, learned), Source.OBSERVED, found)
    return Baseline(by_line, Source.SUPPLIED if np.isfinite(by_line).any() else Source.UNKNOWN)
