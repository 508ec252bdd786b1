"""Reads of KV after its lease where no span tells of leases: prefill's own counts say that leases ended, or
that reads came later, and the usual lease of the serving system says of which requests.

Decode may prolong a lease while it waits, which no span tells either: without prefill's counts nothing is
said. A count of late reads moves as late as prefill works again; one of leases that ended moves at once.
"""

from dataclasses import dataclass

import numpy as np

from analyzer.signals import total
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Floats, Index


@dataclass(frozen=True)
class PresumedLate:
    """Requests (rows) whose KV was taken later than the usual lease after their prompt was computed."""

    request: Index
    held: Floats
    """Seconds from the prompt's end until decode had its KV, at most."""
    lease: Floats
    """Seconds; supplied: what the serving system keeps unread KV for by default."""


def counted(s: Situation, signal: str) -> float:
    """What prefill counted in the window: `late_kv_reads_total` or `kv_expired_total`."""
    return float(total(item for item in s.loaded.increases if item.signal == signal) or 0.0)


def presumed_late(s: Situation) -> PresumedLate:
    """Requests that prefill's counts must be about."""
    r, t = s.requests, s.transfers
    lease = np.full(len(r), np.nan)
    for system, seconds in s.loaded.usual_lease.items():
        lease[r.system == system] = seconds
    told = np.zeros(len(r), bool)
    told[t.request[np.isfinite(t.lease_end)]] = True
    taken = np.fmax(np.fmax(r.ended("decode_queue"), r.ended("kv_transfer")), r.ended("kv_import"))
    taken = np.where(np.isfinite(taken), taken, r.start + r.ttft)  # decode had its KV by its first token
    held = taken - r.ended("prefill_compute")
    two_legs = (r.prefill_worker != 0) & (r.decode_worker != 0) & (r.prefill_worker != r.decode_worker)
    read = r.inside & two_legs & r.answered & ~(r.local_prompt_tokens > 0)
    any_counted = counted(s, "late_kv_reads_total") + counted(s, "kv_expired_total") > 0
    rows = np.flatnonzero(read & ~told & (held > lease) & any_counted)
    return PresumedLate(rows, held[rows], lease[rows])
