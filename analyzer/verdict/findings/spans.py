"""Findings about spans: late, doubled, missing, impossible."""

import numpy as np

from analyzer.verdict.attribution import Attribution
from analyzer.verdict.evidence import number
from analyzer.verdict.findings.finding import Finding
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import PART, Outcome

GAP_SHARE = 0.1
GAP_S = 0.05
"""A gap is worth naming from this share of TTFT and this many seconds on, at the median of those with one."""
ROUTER_OFF_S = 1.0
ENOUGH_CHILDREN = 20


def late_spans(s: Situation, _: Attribution) -> Finding | None:
    """Requests with spans that came after they were first complete."""
    late = s.requests.inside & (s.requests.late_spans > 0)
    if not late.any():
        return None
    share = late.sum() / max(1, s.requests.inside.sum())
    return Finding(
        "late_spans", "info", f"{share:.1%} of the requests had spans that came late", int(late.sum())
    )


def duplicate_records(s: Situation, _: Attribution) -> Finding | None:
    """Spans sent twice, or releases logged once per rank."""
    inside = s.requests.inside
    doubled = int(s.requests.duplicate_spans[inside].sum())
    ranks = int(s.transfers.duplicate_releases[inside[s.transfers.request]].sum())
    if not doubled and not ranks:
        return None
    detail = f"{doubled} spans were sent more than once; {ranks} releases are recorded more than once"
    return Finding("duplicate_records", "info", detail)


def unattributed_gap(s: Situation, _: Attribution) -> Finding | None:
    """Part of TTFT that no span covers, not even one that times several phases as one."""
    r = s.requests
    timed = r.inside & np.isfinite(r.exposed[:, 0]) & (r.ttft > 0)
    gap = r.exposed[:, PART["unattributed"]] - r.composite
    large = timed & (gap > GAP_S) & (gap > GAP_SHARE * r.ttft)
    if large.sum() < max(2, 0.02 * timed.sum()):
        return None
    where = _where(s, large)
    middle = float(np.median(gap[large]))
    detail = f"{middle:.2f} s of TTFT (median of {int(large.sum())} requests) {where} is covered by no span"
    return Finding(
        "unattributed_gap",
        "warning",
        detail,
        int(large.sum()),
        number("unattributed", middle, "s", "derived"),
    )


def _where(s: Situation, rows: np.ndarray) -> str:
    """Between which phases the gap lies, where that is the same for most."""
    r = s.requests
    ends = np.fmax(r.ended("prefill_compute"), r.ended("kv_publish"))[rows]
    begins = np.fmin(r.began("first_decode_step"), r.began("decode"))[rows]
    gap = r.exposed[rows, PART["unattributed"]] - r.composite[rows]
    between = np.nan_to_num(begins - ends) >= 0.5 * gap
    return "between prefill's end and the first decode step" if between.mean() > 0.5 else "in its course"


def span_nesting_quirk(s: Situation, _: Attribution) -> Finding | None:
    """Spans that begin after the span they lie under has ended: nesting says nothing about time here."""
    children, outside = s.loaded.nesting
    if children < ENOUGH_CHILDREN or outside < 0.5 * children:
        return None
    # a share: the spans are everybody's, and how many a tenant's neighbours sent is not its to know
    share = outside / children
    detail = f"{share:.0%} of nested spans begin after their parent ended; nesting is not read as time"
    return Finding("span_nesting_quirk", "info", detail)


def clock_skew(s: Situation, _: Attribution) -> Finding | None:
    """Clocks that contradict causality: corrected where possible, named where bounds exclude each other."""
    shifted = {c.worker: c.offset_ns / 1e6 for c in s.loaded.clocks if c.offset_ns and not c.contradictory}
    torn = sorted({c.worker for c in s.loaded.clocks if c.contradictory})
    if not shifted and not torn:
        return None
    said = [f"{worker} is {ms:+.0f} ms off" for worker, ms in sorted(shifted.items())[:3]]
    said += [f"{worker} jumps or contradicts itself" for worker in torn[:3]]
    evidence = number("clock_offset", max(shifted.values(), key=abs) if shifted else None, "ms", "derived")
    return Finding("clock_skew", "warning", "; ".join(said), None, evidence)


def impossible_duration(s: Situation, _: Attribution) -> Finding | None:
    """Durations that are negative or longer than their span; they were discarded."""
    odd = s.requests.inside & s.requests.impossible
    if not odd.any():
        return None
    detail = f"{int(odd.sum())} requests carry durations that cannot be; those were discarded"
    return Finding("impossible_duration", "warning", detail, int(odd.sum()))


def router_span_unreliable(s: Situation, _: Attribution) -> Finding | None:
    """The router calls requests answered that carry no token or an error, for more than a few.

    When streams ended says nothing of the router where a decode worker's clock jumped meanwhile.
    """
    r = s.requests
    masked = r.inside & r.masked
    torn = {clock.worker for clock in s.loaded.clocks if clock.contradictory}
    jumped = [code for code, worker in s.loaded.workers.items() if worker.name in torn]
    comparable = r.inside & ~np.isin(r.decode_worker, np.array(jumped, np.uint64))
    ended_early = comparable & (r.outcome == Outcome.OK) & (r.ended("decode") > r.end + ROUTER_OFF_S)
    chosen = masked | ended_early
    if chosen.sum() < max(2, 0.01 * r.inside.sum()):
        return None
    detail = f"the router's word on {int(chosen.sum())} requests does not match what workers saw"
    return Finding("router_span_unreliable", "info", detail, int(chosen.sum()))
