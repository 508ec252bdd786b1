"""The contract's table of measured quantities; one that cannot be measured is left out."""

from typing import Any

import numpy as np

from analyzer.kv_ledger import State, peak_weight
from analyzer.verdict.gauge_checks import reported_over_true
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import PART, Account, Floats
from collector.phases import TTFT_PARTS


def quantities(s: Situation) -> dict[str, Any]:
    """All of them, fractions 0-1, GB = 1e9 bytes."""
    out: dict[str, Any] = {
        **_requests(s),
        **_orphans(s),
        **_transfers(s),
        **_latency(s),
        **_prefill_workers(s),
        **_clocks(s),
    }
    out |= reported_over_true(s)
    return {name: value for name, value in out.items() if value is not None}


def _clocks(s: Situation) -> dict[str, Any]:
    """Median over the window's slices of what each worker's clock was ahead of its router's."""
    by_worker: dict[str, list[int]] = {}
    for item in s.loaded.clocks:
        if not item.contradictory:
            by_worker.setdefault(item.worker, []).append(item.offset_ns)
    found = {worker: float(np.median(values)) / 1e6 for worker, values in by_worker.items()}
    return {"clock_offset_ms": found} if found else {}


def _requests(s: Situation) -> dict[str, Any]:
    r = s.requests
    inside = r.inside
    number = int(inside.sum())
    local = np.nansum(np.where(r.appended, 0.0, r.local_prompt_tokens)[inside])
    prompt = float(np.nansum(r.input_tokens[inside]))
    known = bool(np.isfinite(r.local_prompt_tokens[inside]).any())
    return {
        "distinct_requests": number,
        "dispatch_attempts": int(r.attempts[inside].sum()),
        "late_span_fraction": float((r.late_spans[inside] > 0).mean()) if number else None,
        "decode_local_prompt_token_fraction": float(local) / prompt if prompt and known else None,
    }


def _orphans(s: Situation) -> dict[str, Any]:
    inside = s.requests.inside[s.transfers.request]
    book = s.ledger
    mine = inside[book.transfer]
    orphan = book.orphan & mine
    number = max(1, int(s.requests.inside.sum()))
    with_orphan = len(np.unique(s.transfers.request[book.transfer[orphan]]))
    unread = (book.state == State.EXPIRED) & mine
    expired = np.union1d(
        s.transfers.request[book.transfer[unread]], s.transfers.request[book.late_read & inside]
    )
    out: dict[str, Any] = {
        "orphaned_requests": with_orphan,
        "orphaned_request_fraction": with_orphan / number,
        "expired_requests": len(expired),
        "expired_request_fraction": len(expired) / number,
    }
    if orphan.any():
        held = book.until - book.since
        if np.isfinite(book.bytes[orphan]).all():
            out["orphaned_bytes_peak"] = peak_weight(
                book.bytes[orphan], book.since[orphan], book.until[orphan]
            )
        out["pinned_seconds_per_orphan"] = float(np.median(held[orphan]))
        out["pinned_kv_fraction_peak"] = _pinned_fraction(s, orphan)
    return out


def _pinned_fraction(s: Situation, orphan: np.ndarray) -> float | None:
    """Largest fraction of one pool's capacity that orphans held at an instant."""
    found = []
    for on_decode, workers in ((False, s.pools.prefill_workers), (True, s.pools.decode_workers)):
        chosen = orphan & (s.ledger.on_decode == on_decode) & np.isfinite(s.ledger.tokens)
        capacity = s.pools.kv_capacity(workers)
        if chosen.any() and len(workers) and np.isfinite(capacity).all():
            peak = peak_weight(s.ledger.tokens[chosen], s.ledger.since[chosen], s.ledger.until[chosen])
            found.append(peak / float(capacity.sum()))
    return max(found) if found else None


def _transfers(s: Situation) -> dict[str, Any]:
    t = s.transfers
    took = t.seconds
    moved = s.requests.inside[t.request] & np.isfinite(took)
    sized = moved & np.isfinite(t.bytes)
    out: dict[str, Any] = {}
    posted = moved & np.isfinite(t.post)
    if posted.any():
        out["post_share_of_transfer"] = float(np.median(t.post[posted] / took[posted]))
    if sized.any():
        out["effective_gb_s"] = float(np.median(t.bytes[sized] / took[sized])) / 1e9
        out["aggregate_gb_s"] = float(t.bytes[sized].sum()) / union(t.asked[sized], t.moved[sized]) / 1e9
    held = sized & np.isfinite(t.already_held_tokens) & (t.tokens > 0)
    if held.any():
        sent = moved & (t.tokens > 0)
        out["redundant_byte_fraction"] = float(t.already_held_tokens[held].sum() / t.tokens[sent].sum())
    return out


def union(start: Floats, end: Floats) -> float:
    """Seconds in which at least one interval ran."""
    order = np.argsort(start)
    start, reach = start[order], np.maximum.accumulate(end[order])
    begins_anew = np.concatenate([[True], start[1:] > reach[:-1]])
    first = np.flatnonzero(begins_anew)
    last = np.concatenate([first[1:] - 1, [len(start) - 1]])
    return float((reach[last] - start[first]).sum())


def _latency(s: Situation) -> dict[str, Any]:
    r = s.requests
    timed = r.inside & np.isfinite(r.ttft) & (r.account != Account.INVALID)
    if not timed.any():
        return {}
    ttft = float(np.median(r.ttft[timed]))
    exposed = r.exposed[timed & np.isfinite(r.exposed[:, 0])]
    out: dict[str, Any] = {"ttft_p50_ms": ttft * 1e3}
    if len(exposed) and ttft > 0:
        middle = np.median(exposed, axis=0)
        out["ttft_unattributed_ms_p50"] = float(middle[PART["unattributed"]]) * 1e3
        out["phase_share_of_ttft_p50"] = {
            part: float(middle[PART[part]] / ttft) for part in TTFT_PARTS if part != "unattributed"
        }
        out["phase_share_of_excess_ttft_p50"] = _share_of_excess(s, middle, ttft)
    return out


HANDOVER = ("kv_publish", "kv_transfer", "decode_queue", "kv_import")


def _share_of_excess(s: Situation, middle: Floats, ttft: float) -> dict[str, float] | None:
    """Each part's excess over its baseline, of TTFT's excess over the baselines' sum."""
    r = s.requests
    timed = r.inside & np.isfinite(r.exposed[:, 0])
    normal = np.zeros(len(TTFT_PARTS))
    compute = s.compute.expected[timed]
    if np.isfinite(compute).any():
        normal[PART["prefill_compute"]] = min(float(np.nanmedian(compute)), middle[PART["prefill_compute"]])
    if len(s.transfers) and np.isfinite(s.moving.expected).any():
        normal[PART["kv_transfer"]] = min(float(np.nanmedian(s.moving.expected)), middle[PART["kv_transfer"]])
    normal[PART["first_decode_step"]] = min(s.pools.step_time, middle[PART["first_decode_step"]])
    excess = middle - normal
    total = ttft - float(normal.sum())
    if total <= 0:
        return None
    return {part: float(excess[PART[part]] / total) for part in TTFT_PARTS}


def _prefill_workers(s: Situation) -> dict[str, Any]:
    """Busiest prefill worker's queue time over the median worker's, and how many exceed twice the median."""
    r = s.requests
    inside = r.inside & (r.prefill_worker != 0)
    codes = s.pools.siblings("prefill")
    if len(codes) < 3:
        return {}
    took = np.nan_to_num(r.duration("prefill_queue"))
    waited = np.array([took[inside & (r.prefill_worker == code)].sum() for code in codes])
    middle = float(np.median(waited))
    if middle <= 0:
        return {}
    return {
        "skew_max_over_median": float(waited.max()) / middle,
        "affected_prefill_workers": int((waited > 2 * middle).sum()),
    }
