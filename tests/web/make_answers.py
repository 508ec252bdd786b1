"""Writes tests/web/answers/: what REST would say of a small simulated incident, in the contract's shapes.

Two prefill and two decode workers; for a quarter of an hour prompts become long and prefill falls behind.
Seeded, so the files only change when this does: python -m tests.web.make_answers
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

from tests.web.odd_requests import odd_requests
from tests.web.shapes import Json, detail_of, rfc3339, summary_of

ANSWERS = Path(__file__).parent / "answers"
NS = 1_000_000_000
START_NS = int(datetime(2026, 11, 29, 2, 0, tzinfo=UTC).timestamp()) * NS
WINDOW_S = 3600
STEP_S = 60
OBJECTIVE = {"ttft": 2.0, "tpot": 0.02, "target": 0.99}
BUCKETS = (("0-1K", 1024), ("1-4K", 4096), ("4-16K", 16384), ("16K+", 1 << 30))
SURGE_S = (1260, 2200)


def ns(seconds: float) -> int:
    return round(seconds * NS)


def arrivals(rng: random.Random) -> Iterable[tuple[float, int]]:
    """(seconds, prompt tokens): half a request a second, longer and denser in the surge."""
    at = 0.0
    while True:
        surge = SURGE_S[0] <= at < SURGE_S[1]
        at += rng.expovariate(0.78 if surge else 0.5)
        if at >= WINDOW_S:
            return
        typical = 8.85 if surge else 7.2
        yield at, min(30000, max(24, round(rng.lognormvariate(typical, 0.9 if not surge else 0.55))))


def simulated() -> list[Json]:
    """Every request of the hour, served first come first served by whichever worker is free first."""
    rng = random.Random(4)
    free = {"prefill-0": 0.0, "prefill-1": 0.0}
    found = []
    for n, (at, tokens) in enumerate(arrivals(rng)):
        prefill = min(free, key=lambda w: free[w])
        decode = f"decode-{n % 2}"
        dispatched = at + 0.0004 + 0.0000006 * tokens
        begins = max(dispatched + 0.001, free[prefill])
        computed = begins + 0.03 + tokens * 0.00021 * rng.uniform(0.95, 1.1)
        free[prefill] = computed
        sent = computed + 0.002 + tokens * 131072 / 11e9 * rng.uniform(1, 1.5)
        steps = rng.randint(8, 400)
        cut = [at, at + 0.0003, dispatched, dispatched + 0.001, begins, computed, computed + 0.0015, sent]
        found.append(served(n, tokens, steps, prefill, decode, cut, rng))
    return found


def served(
    n: int, tokens: int, steps: int, prefill: str, decode: str, cut: Sequence[float], rng: random.Random
) -> Json:
    at, tokenize, dispatched, arrived, begins, computed, published, sent = cut
    queue = rng.uniform(0.001, 0.02)
    runs = sent + queue + 0.003
    first = runs + rng.uniform(0.012, 0.03)
    leaves = first + 0.0006
    last = leaves + (steps - 1) * rng.uniform(0.0105, 0.0135)
    decode_begins = computed - (computed - begins) * 0.1
    spans = [
        ("router_queue", at, dispatched, "router-0"),
        ("tokenize", at + 0.0001, tokenize, "router-0"),
        ("prefill_queue", arrived, begins, prefill),
        ("prefill_compute", begins, computed, prefill),
        ("kv_publish", computed, published, prefill),
        ("kv_transfer", computed - (computed - begins) * 0.2, sent, decode),
        ("decode_queue", decode_begins, sent + queue, decode),
        ("kv_import", sent + queue, runs, decode),
        ("first_decode_step", runs, first, decode),
        ("network_streaming", first, leaves - 0.0001, "router-0"),
        ("decode", first, last, decode),
    ]
    intervals = [(p, (), ns(a), ns(b), w, 1, "observed", "") for p, a, b, w in spans if b > a]
    cancelled = n % 97 == 13
    return {
        "n": n,
        "start": ns(at),
        "first": None if cancelled and begins - at > 4 else ns(leaves),
        "last": None if cancelled else ns(last),
        "end": ns(last) + 400_000,
        "tokens": tokens,
        "steps": steps,
        "prefill": prefill,
        "decode": decode,
        "outcome": "cancelled" if cancelled else "ok",
        "intervals": intervals,
        "tenant": ("acme", "globex", None)[n % 3],
    }


def quantile(values: Sequence[float], q: float) -> float | None:
    """Nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else None


def latency(requests: Sequence[Json], metric: str, key: Callable[[Json], str | None]) -> Json:
    order = [name for name, _ in BUCKETS]
    groups: dict[str, list[float]] = {}
    for r in requests:
        groups.setdefault(key(r) or "", [])
        if r[metric] is not None:
            groups[key(r) or ""].append(r[metric])
    names = sorted(groups, key=lambda k: order.index(k) if k in order else 0)
    rows = [
        {
            "key": name,
            "count": len(groups[name]),
            **{f"p{q}": quantile(groups[name], q / 100) for q in (50, 90, 95, 99)},
            "max": max(groups[name], default=None),
        }
        for name in names
    ]
    return {"metric": metric, "unit": "s", "rows": rows}


def bucket(request: Json) -> str:
    return next(name for name, limit in BUCKETS if request["input_tokens"] < limit)


def longest(request: Json) -> str:
    exposed: dict[str, float] = request["exposed"]
    return max(exposed, key=lambda part: exposed[part])


def timeseries(requests: Sequence[Json]) -> Json:
    points = []
    for k in range(WINDOW_S // STEP_S):
        lower = rfc3339(START_NS + k * STEP_S * NS)
        upper = rfc3339(START_NS + (k + 1) * STEP_S * NS)
        mine = [r for r in requests if lower <= r["started_at"] < upper]
        judged = [r for r in mine if r["outcome"] != "cancelled"]
        met = sum(r["met"]["joint"] for r in judged)
        missed = [r for r in judged if not r["met"]["joint"]]
        points.append(
            {
                "t": lower,
                "requests": len(mine),
                "met": met,
                "missed": len(missed),
                "attainment": met / len(judged) if judged else None,
                "goodput_rps": met / STEP_S,
                "by_cause": {"insufficient_evidence": len(missed)} if missed else {},
                "by_phase": dict(Counter(longest(r) for r in missed)),
            }
        )
    return {"step": STEP_S, "points": points}


def objective(requests: Sequence[Json], name: str, period_days: int) -> Json:
    judged = [r for r in requests if r["outcome"] != "cancelled"]
    met = {part: sum(r["met"][part] for r in judged) / len(judged) for part in ("ttft", "tpot", "joint")}
    missed = sum(not r["met"]["joint"] for r in judged)
    burn = (1 - met["joint"]) / (1 - OBJECTIVE["target"])
    return {
        "name": name,
        "selector": {"model": "Qwen/Qwen3-8B"},
        **OBJECTIVE,
        "period_days": period_days,
        "requests": {
            "total": len(requests),
            "evaluated": len(judged),
            "met": len(judged) - missed,
            "missed": missed,
            "rejected": 0,
            "errored": 0,
            "cancelled": len(requests) - len(judged),
            "invalid": 0,
            "incomplete": 3,
            "in_flight": None,
            "oldest_in_flight_s": None,
        },
        "attainment": met,
        "budget_left": 1 - burn * 0.2,
        "burn_rates": {
            "5m": 0.0,
            "30m": burn * 0.9,
            "1h": burn,
            "2h": burn,
            "6h": burn / 4,
            "1d": None,
            "3d": None,
        },
        "goodput_rps": (len(judged) - missed) / WINDOW_S,
        "requests_per_gpu_hour": None,
        "output_tokens_per_gpu_hour": None,
        "network_bytes_per_good_request": None,
    }


def write(name: str, answer: Any) -> None:
    (ANSWERS / f"{name}.json").write_text(
        json.dumps(answer, ensure_ascii=False, separators=(",", ":")) + "\n"
    )


def main() -> None:
    plans = simulated()
    requests = [summary_of(p, START_NS, OBJECTIVE) for p in plans]
    slowest = sorted(range(len(requests)), key=lambda i: -(requests[i]["ttft"] or 0))
    shown = {"slowest": slowest[:120], "newest": list(range(len(requests)))[::-1][:120]}
    for order, chosen in shown.items():
        write(f"requests.{order}", {"requests": [requests[i] for i in chosen], "total": len(requests)})
    write("request.slow", detail_of(plans[slowest[4]], START_NS, OBJECTIVE))
    for name, plan in odd_requests().items():
        write(f"request.{name}", detail_of(plan, START_NS, OBJECTIVE))
    write("slo", {"objectives": [objective(requests, "interactive", 30)]})
    write("slo.timeseries", timeseries(requests))
    for metric in ("ttft", "tpot"):
        write(f"latency.{metric}.input_bucket", latency(requests, metric, bucket))
    for name in ("model", "tenant"):
        write(f"latency.ttft.{name}", latency(requests, "ttft", itemgetter(name)))


if __name__ == "__main__":
    main()
