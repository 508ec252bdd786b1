"""A planned request in the shape that `GET /requests` and `GET /requests/{id}` give it."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from collector.phases import DECODE_PARTS, TTFT_PARTS, TTFT_PHASES, Phase

NS = 1_000_000_000
Json = dict[str, Any]
Interval = tuple[str, tuple[str, ...], int, int, str, int, str, str]
"""phase, covers, start ns, end ns, worker, attempt, source, reason"""


def rfc3339(at_ns: int) -> str:
    whole, fraction = divmod(at_ns, NS)
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"


def dispatch(intervals: Sequence[Interval], attempt: int) -> int | None:
    """When the attempt left the router, or else when its first worker had it."""
    mine = [i for i in intervals if i[5] == attempt and not i[1] and i[0] in TTFT_PHASES]
    routed = [i[3] for i in mine if i[0] == "router_queue"]
    worked = [i[2] for i in mine if i[0] not in ("router_queue", "tokenize")]
    return max(routed) if routed else min(worked, default=None)


def exposures(intervals: Sequence[Interval], start: int, end: int) -> tuple[dict[str, int], list[Json]]:
    """Exposed nanoseconds per part of TTFT as the convention defines them, and what only composites cover."""
    parts = dict.fromkeys(TTFT_PARTS, 0)
    inside: dict[tuple[tuple[str, ...], str], int] = {}
    last = max((i[5] for i in intervals), default=1)
    lost_from, lost_to = dispatch(intervals, 1) or 0, (dispatch(intervals, last) or 0) if last > 1 else 0
    bounded = [(*i[:3], min(i[3], lost_to) if lost_to and i[5] < last else i[3], *i[4:]) for i in intervals]
    edges = {start, end, lost_from, lost_to} | {t for i in bounded for t in i[2:4]}
    for a, b in pairwise(sorted(t for t in edges if start <= t <= end)):
        active = [i for i in bounded if i[2] <= a and i[3] >= b]
        phases = [i[0] for i in active if not i[1] and i[0] in TTFT_PHASES]
        wide = [i for i in active if i[1]]
        if lost_from <= a and b <= lost_to:
            parts["retry"] += b - a
        elif phases:
            parts[min(phases, key=TTFT_PARTS.index)] += b - a
        else:
            parts["unattributed"] += b - a
            if wide:
                key = (wide[0][1], wide[0][7])
                inside[key] = inside.get(key, 0) + b - a
    composites = [{"covers": list(c), "exposed": s / NS, "reason": why} for (c, why), s in inside.items()]
    return parts, composites


def summary_of(plan: Json, epoch_ns: int, objective: Json) -> Json:
    """The request as a list gives it. No first token and a timeout: TTFT is censored at the request's age."""
    censored = plan["first"] is None and plan["outcome"] in ("timeout", "error")
    seen = plan["end"] if censored else plan["first"]
    ttft = None if seen is None else (seen - plan["start"]) / NS
    parts, composites = exposures(plan["intervals"], plan["start"], seen) if seen else ({}, [])
    streamed = plan["first"] is not None and plan["last"] is not None
    tpot = (
        (plan["last"] - plan["first"]) / NS / (plan["steps"] - 1) if streamed and plan["steps"] > 1 else None
    )
    ok_ttft = ttft is not None and not censored and ttft <= objective["ttft"]
    ok_tpot = tpot is None or tpot <= objective["tpot"]
    running = dict.fromkeys(DECODE_PARTS, 0.0)
    if streamed:
        running["running"] = (plan["last"] - plan["first"]) / NS
    identity = hashlib.sha256(f"request {plan['n']}".encode()).hexdigest()
    missed = plan["outcome"] != "cancelled" and not (ok_ttft and ok_tpot)
    return {
        "key": identity[:32],
        "request_id": plan.get("request_id", f"cmpl-{identity[:8]}-{identity[8:12]}-{identity[12:24]}"),
        "client_request_id": None,
        "trace_id": identity[32:],
        "model": plan.get("model", "Qwen/Qwen3-8B"),
        "tenant": plan["tenant"],
        "route": None,
        "cohort": None,
        "started_at": rfc3339(epoch_ns + plan["start"]),
        "outcome": plan["outcome"],
        "input_tokens": plan["tokens"],
        "output_tokens": plan["steps"] if streamed else 0,
        "cached_tokens": None,
        "attempts": max((i[5] for i in plan["intervals"]), default=1),
        "ttft": ttft,
        "ttft_source": None if plan["first"] is None else "router_first_token",
        "ttft_uncertainty": plan.get("uncertainty", 0.0012) if plan["first"] is not None else None,
        "tpot": tpot,
        "e2e": (plan["end"] - plan["start"]) / NS,
        "prefill_worker": plan["prefill"],
        "decode_worker": plan["decode"],
        "met": {"ttft": ok_ttft, "tpot": ok_tpot, "joint": ok_ttft and ok_tpot},
        "cause": "insufficient_evidence" if missed else "none",
        "causes": {"insufficient_evidence" if missed else "none": 1.0},
        "complete": plan.get("complete", True),
        "censored": censored,
        "exposed": {part: value / NS for part, value in parts.items()} or None,
        "exposed_decode": running if streamed else None,
        "composites": composites,
    }


def own_durations(intervals: Sequence[Interval]) -> dict[str, float]:
    """Seconds that each phase lasted; the planned intervals of one phase never overlap."""
    return {str(p): sum(i[3] - i[2] for i in intervals if i[0] == p and not i[1]) / NS for p in Phase}


def detail_of(plan: Json, epoch_ns: int, objective: Json) -> Json:
    """The request as `GET /requests/{id}` gives it."""
    summary = summary_of(plan, epoch_ns, objective)
    names = ("phase", "covers", "start", "end", "worker", "attempt", "source", "reason")
    intervals = [
        {
            **dict(zip(names, i, strict=True)),
            "start": rfc3339(epoch_ns + i[2]),
            "end": rfc3339(epoch_ns + i[3]),
        }
        for i in plan["intervals"]
    ]
    verdict = {"cause": summary["cause"], "confidence": None, "evidence": [], "counterfactual": None}
    return {
        **summary,
        "intervals": intervals,
        "clock_corrections": plan.get("clocks", []),
        "phases": own_durations(plan["intervals"]),
        "joined_by": plan.get("joined_by", ["trace_id", "request_id"]),
        "notes": [],
        "spans": len(intervals) + 1,
        "duplicate_spans": 0,
        "late_spans": 0,
        "verdict": verdict,
    }
