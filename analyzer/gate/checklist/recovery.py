"""What became of KV when things went wrong: released, re-fetched or abandoned, never leaked."""

import numpy as np

from analyzer.gate.check import Check, Fact, not_shown, shown
from analyzer.gate.evidence import Evidence
from analyzer.kv_ledger import State, peak_weight
from analyzer.verdict.tables import Flags, Freed, Outcome

ENDINGS = {
    "success": (Outcome.OK,),
    "cancel": (Outcome.CANCELLED,),
    "timeout": (Outcome.TIMEOUT,),
}
CASES = 3
"""Cases that must have been seen for a line to be decided."""
MOST_PINNED = 0.1
"""Fraction of a pool's KV that orphans may hold at their peak."""


def kv_released(e: Evidence) -> list[Check]:
    """KV is given back after success, cancel, timeout and crash."""
    s = e.candidate.situation
    owner = s.requests.outcome[s.transfers.request[s.ledger.transfer]]
    out = []
    for name, outcomes in ENDINGS.items():
        out.append(
            _released(e, f"released_after_{name}", f"KV is released after {name}", np.isin(owner, outcomes))
        )
    lost = s.transfers.freed_why[s.ledger.transfer] == Freed.WORKER_LOST
    crash = lost | _of_crashed(e)
    return [*out, _released(e, "released_after_crash", "KV is released after a worker's crash", crash)]


def _mine(e: Evidence) -> Flags:
    s = e.candidate.situation
    found: Flags = s.requests.inside[s.transfers.request[s.ledger.transfer]]
    return found


def _released(e: Evidence, line: str, title: str, chosen: Flags) -> Check:
    book = e.candidate.situation.ledger
    rows = chosen & _mine(e)
    kept = rows & (book.state == State.HELD)
    late = rows & book.past_lease
    facts: dict[str, Fact] = {
        "cases": int(rows.sum()),
        "still_held": int(kept.sum()),
        "after_lease": int(late.sum()),
    }
    if rows.sum() < CASES:
        return not_shown(
            line, title, f"{rows.sum()} such holdings of KV were seen; {CASES} are needed", facts
        )
    told = bool((book.state[rows] != State.OPEN).all())
    if not told and not kept.any():
        return not_shown(line, title, "some are too young to tell", facts)
    ok = not kept.any() and not late.any()
    answer = (
        f"{rows.sum()} holdings of KV, all given back"
        if ok
        else f"{kept.sum()} still held, {late.sum()} held past "
    )
    return shown(line, title, ok, answer if ok else answer + f"their lease, of {rows.sum()}", facts)


def orphans_bounded(e: Evidence) -> Check:
    """Orphaned KV never held more than a small part of a pool."""
    line, title = "orphans_bounded", "Orphaned KV is bounded"
    found = e.candidate.found.quantities
    orphans = int(found.get("orphaned_requests", 0))
    peak = _pinned(e)
    facts: dict[str, Fact] = {"orphaned_requests": orphans, "pinned_kv_fraction_peak": peak}
    if not len(e.candidate.hand_offs):
        return not_shown(line, title, "no hand-off was seen", facts)
    if not orphans:
        return shown(line, title, True, f"none of {len(e.candidate.hand_offs)} hand-offs was orphaned", facts)
    if peak is None:
        return not_shown(line, title, f"{orphans} orphans; the pools' KV capacity is not known", facts)
    answer = f"{orphans} requests left orphans, at most {peak:.1%} of a pool's KV at once"
    return shown(line, title, peak <= MOST_PINNED, answer, facts)


def _pinned(e: Evidence) -> float | None:
    """Largest fraction of the cohort's own KV, of either pool, that orphans held at an instant."""
    s, found = e.candidate.situation, []
    book, r = s.ledger, s.requests
    for on_decode, codes in ((False, r.prefill_worker), (True, r.decode_worker)):
        chosen = book.orphan & _mine(e) & (book.on_decode == on_decode) & np.isfinite(book.tokens)
        capacity = s.pools.kv_capacity(np.unique(codes[r.inside & (codes != 0)]))
        if chosen.any() and capacity.sum() > 0:
            peak = peak_weight(book.tokens[chosen], book.since[chosen], book.until[chosen])
            found.append(peak / float(capacity.sum()))
    return max(found, default=None)


def decode_failure_leaks_nothing(e: Evidence) -> Check:
    """Where prefill succeeded and decode failed, the KV came back."""
    line, title = "decode_failure_leaks_nothing", "Prefill success with decode failure leaks nothing"
    s = e.candidate.situation
    owner = s.transfers.request[s.ledger.transfer]
    failed = np.isin(s.requests.outcome[owner], (Outcome.ERROR, Outcome.TIMEOUT, Outcome.INTERRUPTED))
    return _released(e, line, title, failed & np.isfinite(s.transfers.published[s.ledger.transfer]))


def restarts(e: Evidence) -> Check:
    """Requests on a worker that was restarted were fetched again or given up, not left open."""
    line, title = "restarts", "After a restart requests re-fetch their KV or are abandoned"
    r = e.candidate.situation.requests
    rows = _crossed_restart(e)
    facts: dict[str, Fact] = {"requests": int(rows.sum())}
    if rows.sum() < CASES:
        return not_shown(line, title, f"{rows.sum()} requests ran on a worker as it was restarted", facts)
    open_ = rows & (r.outcome == Outcome.UNKNOWN)
    again = rows & ((r.attempts > 1) | (np.nan_to_num(r.local_prompt_tokens) > 0))
    facts |= {"open": int(open_.sum()), "fetched_again": int(again.sum())}
    answer = f"{rows.sum()} requests: {again.sum()} were fetched or computed again, {open_.sum()} have no end"
    return shown(line, title, not open_.any(), answer, facts)


def _crossed_restart(e: Evidence) -> Flags:
    """Requests under way on a worker at the instant at which it was started anew."""
    s, r = e.candidate.situation, e.candidate.situation.requests
    out = np.zeros(len(r), bool)
    for code, worker in s.loaded.workers.items():
        own = r.inside & ((r.prefill_worker == code) | (r.decode_worker == code))
        for start in worker.starts:
            out |= own & (r.start < start) & (np.where(np.isfinite(r.end), r.end, np.inf) > start)
    return out


def _of_crashed(e: Evidence) -> Flags:
    s = e.candidate.situation
    found: Flags = _crossed_restart(e)[s.transfers.request[s.ledger.transfer]]
    return found
