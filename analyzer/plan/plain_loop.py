"""The same model, one step at a time, in plain Python: what receipts are verified with.

Shares no code with the simulator, on purpose: two ways to the same figures. Knows round-robin routing and
unlimited KV, where workers can be taken one by one; plain_clock knows the rest.
"""

import math
import random
from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush

Row = tuple[float, int, int, int]
"""arrival_s, prompt tokens, output tokens, cached prompt tokens."""


@dataclass(frozen=True)
class Constants:
    """The step model and hand-off in seconds, and the limits of a worker."""

    weights_s: float
    context_s: float
    compute_s: float
    overhead_s: float
    wire_s: float
    hand_off_s: float
    layers: int
    overlap: bool
    max_seqs: int
    exact: bool


@dataclass
class Trail:
    """What one run left: times per request, and (start, seconds, decodes) per step with decodes.

    `failed` has why a request did not end well, `retried` those that were dispatched more than once.
    """

    first: dict[int, float] = field(default_factory=dict)
    last: dict[int, float] = field(default_factory=dict)
    steps: list[tuple[float, float, int]] = field(default_factory=list)
    step_count: int = 0
    failed: dict[int, str] = field(default_factory=dict)
    retried: set[int] = field(default_factory=set)


def draw(spec: dict[str, float]) -> list[Row]:
    """The rows of a seeded synthetic workload: gap, prompt, output per request, in that order."""
    rng = random.Random(int(spec["seed"]))
    rows: list[Row] = []
    at = rng.expovariate(spec["rate_per_s"])
    while at <= spec["until_s"]:
        prompt = int(rng.lognormvariate(math.log(spec["prompt_median"]), spec["prompt_sigma"]))
        output = int(rng.lognormvariate(math.log(spec["output_median"]), spec["output_sigma"]))
        prompt = max(1, min(int(spec["prompt_max"]), prompt))
        output = min(int(spec["output_max"]), max(int(spec["output_min"]), output))
        rows.append((at, prompt, output, 0))
        at += rng.expovariate(spec["rate_per_s"])
    return rows


def colocated(rows: list[Row], workers: int, chunk: int, c: Constants) -> Trail:
    """`workers` instances that prefill and decode, every n-th request each."""
    trail = Trail()
    for k in range(workers):
        ids = range(k, len(rows), workers)
        _worker([(rows[i][0], i) for i in ids], rows, chunk, "colocated", c, trail)
    return trail


def disaggregated(rows: list[Row], prefill: int, decode: int, budget: int, c: Constants) -> Trail:
    """Prefill instances, then decode instances in turn, in order of KV arrival."""
    prompts, trail = Trail(), Trail()
    for k in range(prefill):
        ids = range(k, len(rows), prefill)
        _worker([(rows[i][0], i) for i in ids], rows, budget, "prefill", c, prompts)
    arrivals = []
    for i, ended in prompts.first.items():
        _, prompt, _, cached = rows[i]
        wire = prompt * c.wire_s
        exposed = wire
        if c.overlap:
            compute = (prompt - cached) * c.compute_s
            exposed = max(wire / c.layers, wire - compute * (c.layers - 1) / c.layers)
        arrivals.append((ended + c.hand_off_s + exposed, i))
    arrivals.sort()
    trail.first = {i: arrived for arrived, i in arrivals}
    for k in range(decode):
        _worker(arrivals[k::decode], rows, 0, "decode", c, trail)
    trail.step_count += prompts.step_count
    for i, row in enumerate(rows):
        if row[2] == 1:
            trail.last[i] = trail.first[i]
    return trail


def _worker(
    arrivals: list[tuple[float, int]], rows: list[Row], budget: int, role: str, c: Constants, trail: Trail
) -> None:
    """Run one instance over its arrivals, step by step."""
    decodes: list[tuple[int, int]] = []
    prompts: deque[list[int]] = deque()
    seats: deque[int] = deque()
    t, step, context, nxt = 0.0, 0, 0, 0

    def leave(request: int) -> None:
        nonlocal context
        trail.last[request] = t
        context -= rows[request][1] + rows[request][2] - (1 if c.exact else 0)

    def join(request: int) -> None:
        nonlocal context
        if rows[request][2] == 1:
            trail.last[request] = t
        else:
            context += rows[request][1]
            heappush(decodes, (step + rows[request][2] - 1, request))

    while nxt < len(arrivals) or decodes or prompts or seats:
        if not (decodes or prompts or seats) and arrivals[nxt][0] > t:
            t = arrivals[nxt][0]
        while nxt < len(arrivals) and arrivals[nxt][0] <= t:
            request = arrivals[nxt][1]
            nxt += 1
            if role == "decode":
                seats.append(request)
            else:
                prompts.append([request, rows[request][1] - rows[request][3]])
        while seats and len(decodes) < c.max_seqs:
            join(seats.popleft())
        batch = len(decodes)
        room = budget - batch
        read, tokens, done = context, batch, 0
        for entry in prompts:
            request, left = entry
            if room <= 0 or batch + done >= c.max_seqs:
                break
            take = min(room, left)
            room -= take
            tokens += take
            entry[1] = left - take
            if entry[1]:
                read += rows[request][1] - left
            else:
                done += 1
        if not tokens:
            continue
        memory = c.weights_s + c.context_s * read
        compute = c.compute_s * tokens
        seconds = (memory if memory > compute else compute) + c.overhead_s
        if batch:
            trail.steps.append((t, seconds, batch))
        t += seconds
        step += 1
        context += batch
        while decodes and decodes[0][0] == step:
            leave(heappop(decodes)[1])
        for _ in range(done):
            request = prompts.popleft()[0]
            trail.first[request] = t
            if role == "colocated":
                join(request)
    trail.step_count += step


def figures(
    trail: Trail, rows: list[Row], window: tuple[float, float], ttft_s: float, tpot_s: float,
    inside: list[int] | None = None,
) -> dict[str, float | int | None]:  # fmt: skip
    """Percentiles and attainment over the requests that arrive inside `window`; failed ones are missed."""
    if inside is None:
        inside = [i for i, row in enumerate(rows) if window[0] < row[0] < window[1]]
    ttft, tpot, met = [], [], 0
    for i in inside:
        if i in trail.failed:
            continue
        wait, spread, steps = trail.first[i] - rows[i][0], trail.last[i] - trail.first[i], rows[i][2] - 1
        ttft.append(wait)
        if steps:
            tpot.append(spread / steps)
        met += wait <= ttft_s and (not steps or spread / steps <= tpot_s)
    ttft.sort()
    tpot.sort()
    steps_in = sorted((s, n) for start, s, n in trail.steps if window[0] < start < window[1])
    return {
        "measured": len(inside),
        "met_count": met,
        "ttft50_s": _rank(ttft, 0.5),
        "ttft95_s": _rank(ttft, 0.95),
        "tpot50_s": _rank(tpot, 0.5),
        "tpot95_s": _rank(tpot, 0.95),
        "itl99_s": _weighted(steps_in, 0.99),
    }


def figures_by_prompt(
    trail: Trail, rows: list[Row], window: tuple[float, float], ttft_s: float, tpot_s: float
) -> dict[str, dict[str, float | int | None]]:
    """The same for the requests with prompts of one length, by the name of the length; no step times."""
    edges = [("0-1K", 1024.0), ("1-4K", 4096.0), ("4-16K", 16384.0), ("16K+", math.inf)]
    groups: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        if window[0] < row[0] < window[1]:
            groups.setdefault(next(name for name, high in edges if row[1] < high), []).append(i)
    found = {}
    for name, members in groups.items():
        part = Trail(first=trail.first, last=trail.last, failed=trail.failed)
        own = figures(part, rows, window, ttft_s, tpot_s, members)
        del own["itl99_s"]
        found[name] = own
    return found


def _rank(values: list[float], q: float) -> float | None:
    return values[int(q * len(values))] if values else None


def _weighted(steps: list[tuple[float, int]], q: float) -> float | None:
    target = q * sum(n for _, n in steps)
    reached = 0
    for seconds, n in steps:
        reached += n
        if reached >= target:
            return seconds
    return None
