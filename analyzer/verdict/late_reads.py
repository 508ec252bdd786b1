"""Reads of KV after its lease where no span tells of leases: prefill's own count says that there were some,
and the usual lease of the serving system says of which requests.

Decode may prolong a lease while it waits, which no span tells either: without prefill's count nothing is
said.
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


def counted_late(s: Situation) -> float:
    """Reads after expiry that prefill counted in the window."""
    return float(total(i for i in s.loaded.increases if i.signal == "late_kv_reads_total") or 0.0)


def presumed_late(s: Situation) -> PresumedLate:
    """Requests that prefill's count of late reads must be about."""
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
    late = read & ~told & (held > lease) if counted_late(s) else np.zeros(len(r), bool)
    rows = np.flatnonzero(late)
    return PresumedLate(rows, held[rows], lease[rows])
