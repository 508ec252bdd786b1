"""Findings about KV hand-offs and their leases."""

import numpy as np

from analyzer.kv_ledger import State
from analyzer.verdict.attribution import Attribution
from analyzer.verdict.evidence import number
from analyzer.verdict.findings.finding import Finding
from analyzer.verdict.late_reads import counted, presumed_late
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags

NEAR_LEASE = 0.5
"""A lease is too short when one hand-off in twenty takes more than this share of it."""
MOSTLY = 0.9
"""Share of two-legged requests without any transfer from which on none is observed."""


def _inside(s: Situation) -> Flags:
    return s.requests.inside[s.transfers.request]


def stale_kv_read_risk(s: Situation, _: Attribution) -> Finding | None:
    """Hand-offs read after their lease, by the spans or, where those don't tell, by prefill's own count."""
    late = s.ledger.late_read & _inside(s)
    if not late.any():
        return _late_by_count(s)
    requests = len(np.unique(s.transfers.request[late]))
    detail = f"{requests} requests read KV after its lease had ended; their answers may be wrong"
    return Finding("stale_kv_read_risk", "critical", detail, requests)


def _late_by_count(s: Situation) -> Finding | None:
    """Late reads by prefill's counts; of which requests, the serving system's usual lease tells."""
    late, expired = counted(s, "late_kv_reads_total"), counted(s, "kv_expired_total")
    presumed = presumed_late(s) if late or expired else None
    evidence = [
        *number("late_kv_reads_total", late or None, "hand-offs"),
        *number("kv_expired_total", expired or None, "hand-offs"),
    ]
    if presumed is None or not len(presumed.request):
        if not late:
            return None
        detail = f"prefill counts {late:.0f} reads of KV after its lease; no span tells of which requests"
        return Finding("stale_kv_read_risk", "critical", detail, None, evidence)
    lease = float(np.median(presumed.lease))
    told = f"{late:.0f} reads of KV after its lease" if late else f"{expired:.0f} leases that ended unread"
    detail = (
        f"prefill counts {told}; {len(presumed.request)} requests took theirs later than the usual lease of "
        f"{lease:g} s: their answers may be wrong"
    )
    evidence += number("usual_lease", lease, "s", "supplied")
    return Finding("stale_kv_read_risk", "critical", detail, len(presumed.request), evidence)


def lease_too_short(s: Situation, _: Attribution) -> Finding | None:
    """Leases that hand-offs regularly come near or exceed."""
    t = s.transfers
    lease = t.lease_end - t.published
    held = np.fmax(t.imported, t.moved) - t.published
    known = _inside(s) & np.isfinite(lease) & (lease > 0) & np.isfinite(held)
    if not known.any():
        return None
    used = float(np.percentile(held[known] / lease[known], 95))
    if used <= NEAR_LEASE and not (s.ledger.late_read & _inside(s)).any():
        return None
    detail = f"one hand-off in twenty takes {used:.0%} of its lease or more"
    evidence = number("lease", float(np.median(lease[known])), "s")
    return Finding("lease_too_short", "warning", detail, None, evidence)


def lease_not_enforced(s: Situation, _: Attribution) -> Finding | None:
    """Orphans held clearly longer than their lease, or, without one, than any fair wait."""
    book = s.ledger
    never_back = book.until >= book.horizon
    over_limit = ~np.isfinite(book.lease) & never_back & (book.until - book.since > 2 * book.limit)
    chosen = book.orphan & _inside(s)[book.transfer] & ((book.past_lease & ~book.on_decode) | over_limit)
    if not chosen.any():
        return None
    held = float(np.median((book.until - book.since)[chosen]))
    detail = f"{int(chosen.sum())} hand-offs are held past their lease (median {held:.0f} s)"
    return Finding("lease_not_enforced", "critical", detail, int(chosen.sum()))


def failed_transfers(s: Situation, _: Attribution) -> Finding | None:
    """Transfers that failed, were replaced by recomputation, or ended in a failed request."""
    t = s.transfers
    bad = t.gave_up & _inside(s)
    concerned = np.zeros(len(s.requests), bool)
    concerned[t.request[bad]] = True
    lost = np.isin(s.ledger.state, (State.ABORTED, State.EXPIRED, State.NEVER_FILLED, State.HELD))
    rows = t.request[s.ledger.transfer[lost]]
    ended_badly = np.zeros(len(s.requests), bool)
    ended_badly[s.rows[s.failed]] = True
    concerned[rows[ended_badly[rows]]] = True
    many = int((concerned & s.requests.inside).sum())
    if not many:
        return None
    recomputed = int((concerned & (s.requests.local_prompt_tokens > 0)).sum())
    detail = f"{many} requests had a transfer that failed; {recomputed} of them were recomputed on decode"
    return Finding("failed_transfers", "warning", detail, many)


def redundant_transfer(s: Situation, _: Attribution) -> Finding | None:
    """Bytes sent that the receiver already held."""
    t = s.transfers
    held = _inside(s) & (t.already_held_tokens > 0) & (t.tokens > 0)
    if not held.any():
        return None
    share = float(t.already_held_tokens[held].sum() / t.tokens[held].sum())
    if share < 0.02:
        return None
    detail = f"{share:.0%} of the tokens sent were already on the decode worker"
    return Finding("redundant_transfer", "info", detail, int(held.sum()))


def no_transfers_observed(s: Situation, _: Attribution) -> Finding | None:
    """Requests go through both pools and no transfer is seen."""
    r = s.requests
    decoded = np.isfinite(r.began("decode_queue")) | np.isfinite(r.began("first_decode_step"))
    both = (
        r.inside & np.isfinite(r.began("prefill_compute")) & decoded & (r.prefill_worker != r.decode_worker)
    )
    if both.sum() < 10 or np.isfinite(r.began("kv_transfer"))[both].mean() > 1 - MOSTLY:
        return None
    detail = f"{int(both.sum())} requests ran on both pools; no KV transfer of theirs is seen"
    return Finding("no_transfers_observed", "warning", detail, int(both.sum()))
