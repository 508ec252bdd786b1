"""What the candidate's requests carry, and whether they were many and varied enough."""

import numpy as np

from analyzer.gate.check import Check, Fact, not_shown, shown
from analyzer.gate.cohort import Cohort
from analyzer.gate.estimate import LEAST
from analyzer.gate.evidence import Evidence
from analyzer.verdict.conversations import conversations
from analyzer.verdict.tables import Outcome

NEARLY_ALL = 0.99
BEYOND_P99 = 200


def multi_turn(e: Evidence) -> Check:
    """Later turns of conversations ran on both sides, and fare no worse for the candidate's design."""
    line, title = "multi_turn", "Multi-turn conversations were tested"
    later = [_later_turns(cohort) for cohort in (e.baseline, e.candidate)]
    facts: dict[str, Fact] = {"baseline_later_turns": later[0], "candidate_later_turns": later[1]}
    if min(later) < LEAST:
        return not_shown(
            line, title, f"{later[0]} and {later[1]} turns after the first; {LEAST} are needed", facts
        )
    note = conversations(e.candidate.situation, np.flatnonzero(e.candidate.evaluated)).note
    return shown(line, title, note is None, note or f"{later[0]} and {later[1]} turns after the first", facts)


def _later_turns(cohort: Cohort) -> int:
    found = conversations(cohort.situation, np.flatnonzero(cohort.evaluated))
    return sum(turn.requests for turn in found.turns[1:])


def deadlines_carried(e: Evidence) -> Check:
    """Requests say their deadline."""
    line, title = "deadlines_carried", "Deadlines are carried through"
    carried = e.candidate.carried
    count, total = carried.get("with_deadline", 0), carried.get("requests", 0)
    facts: dict[str, Fact] = {"with_deadline": count, "requests": total}
    if not count:
        return not_shown(line, title, "no request says pd.deadline_unix_nano", facts)
    return shown(line, title, count >= NEARLY_ALL * total, f"{count} of {total} requests say theirs", facts)


def cancellation_carried(e: Evidence) -> Check:
    """Neither pool goes on working for clients that left."""
    line, title = "cancellation_carried", "Cancellation reaches both pools"
    s, r = e.candidate.situation, e.candidate.situation.requests
    rows = np.flatnonzero(r.inside & (r.outcome == Outcome.CANCELLED))
    if len(rows) < LEAST:
        return not_shown(
            line, title, f"{len(rows)} requests were cancelled; {LEAST} are needed", {"cancelled": len(rows)}
        )
    ends = np.fmax(r.ended("prefill_compute")[rows], r.ended("decode")[rows])
    over = ends - r.end[rows]
    step = max(1.0, 10 * s.pools.step_time)
    worked_on = int((over > step).sum())
    facts: dict[str, Fact] = {"cancelled": len(rows), "worked_on": worked_on}
    answer = f"of {len(rows)} cancelled requests, {worked_on} were worked on for more than {step:.2g} s"
    return shown(line, title, worked_on == 0, answer, facts)


def identity_carried(e: Evidence) -> Check:
    """A request's name is on its spans of both pools."""
    line, title = "identity_carried", "Request identity is carried through both pools"
    carried = e.candidate.carried
    total, legs = carried.get("requests", 0), carried.get("both_legs", 0)
    facts: dict[str, Fact] = {"requests": total, "named": carried.get("named", 0), "with_both_legs": legs}
    r = e.candidate.situation.requests
    answered = r.inside & r.answered
    joined = answered & (r.prefill_worker != 0) & (r.decode_worker != 0)
    if answered.sum() < LEAST:
        return not_shown(line, title, f"{answered.sum()} answered requests; {LEAST} are needed", facts)
    share = joined.sum() / answered.sum()
    answer = f"{share:.1%} of {answered.sum()} answered requests have a prefill and a decode worker"
    return shown(line, title, bool(share >= NEARLY_ALL), answer, facts)


def counted(e: Evidence) -> Check:
    """Recomputation, fallback, retries and rejections are reported, so that their absence means something."""
    line, title = "failures_counted", "Recompute, fallback, retry and rejection are counted"
    carried, loaded = e.candidate.carried, e.candidate.situation.loaded
    counters = {item.signal for item in loaded.increases}
    r = e.candidate.situation.requests
    outcomes = set(np.unique(r.outcome[r.inside]).tolist())
    reported = {
        "recompute": bool(carried.get("with_local_prompt")) or "transfer_failures_total" in counters,
        "fallback": bool(carried.get("with_fallback") or carried.get("with_route_reason")),
        "retry": bool(carried.get("retried")),
        "rejection": Outcome.REJECTED in outcomes or "requests_total" in counters,
    }
    facts: dict[str, Fact] = {
        "recomputed": int((np.nan_to_num(r.local_prompt_tokens[r.inside]) > 0).sum()),
        "with_fallback": carried.get("with_fallback", 0),
        "retried": carried.get("retried", 0),
        "rejected": carried.get("rejected", 0),
    }
    lacking = [name for name, seen in reported.items() if not seen]
    if lacking:
        answer = f"nothing tells whether {', '.join(lacking)} happened: no report of it was seen"
        return not_shown(line, title, answer, facts)
    return shown(line, title, True, ", ".join(f"{name} {count}" for name, count in facts.items()), facts)


def ttft_by_label(e: Evidence) -> Check:
    """TTFT is known by input length, tenant and model."""
    line, title = "ttft_by_label", "TTFT is told by input length, tenant and model"
    facts: dict[str, Fact] = {}
    for by in ("input_bucket", "tenant", "model"):
        members = e.candidate.members(by)
        total = sum(len(rows) for rows in members.values())
        facts[f"{by}_known"] = 1 - len(members.get(None, ())) / total if total else None
    lacking = [name for name, share in facts.items() if not isinstance(share, float) or share < NEARLY_ALL]
    if lacking:
        named = ", ".join(name.removesuffix("_known") for name in lacking)
        return not_shown(line, title, f"requests do not say their {named}", facts)
    counts = ", ".join(
        f"{len(e.candidate.members(by))} of {by}" for by in ("input_bucket", "tenant", "model")
    )
    return shown(line, title, True, f"slices: {counts}", facts)


def percentiles_apart(e: Evidence) -> Check:
    """p50, p95 and p99 are told apart, with intervals, on both sides."""
    line, title = "percentiles_apart", "p50, p95 and p99 are told apart"
    counts = [int(cohort.evaluated.sum()) for cohort in (e.baseline, e.candidate)]
    facts: dict[str, Fact] = {"baseline": counts[0], "candidate": counts[1]}
    if min(counts) < BEYOND_P99:
        return not_shown(
            line, title, f"{counts[0]} and {counts[1]} requests; a p99 needs {BEYOND_P99}", facts
        )
    return shown(line, title, True, f"{counts[0]} and {counts[1]} requests", facts)
