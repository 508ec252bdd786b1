"""What the traffic was: arrivals, prompts, answers, concurrency, and the turns of conversations."""

from dataclasses import dataclass

import numpy as np

from analyzer.occupancy import groups
from analyzer.verdict.diagnosis import Diagnosis
from analyzer.verdict.groups import under_way
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Account, Floats, Index

MOST_TURNS = 20
WORSE = 1.3
"""From this ratio of TTFT per uncached token on, later turns are served worse than first ones."""


@dataclass(frozen=True)
class Distribution:
    """Counts by powers of two, and percentiles."""

    count: int
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None
    buckets: dict[str, int]


@dataclass(frozen=True)
class Arrivals:
    """How requests arrive: rate and burstiness."""

    requests: int
    per_s: float
    peak_per_s: float | None
    interarrival_cv: float | None
    dispersion: float | None


@dataclass(frozen=True)
class Turn:
    """Requests that are the n-th turn of their conversation."""

    turn: int
    requests: int
    input_tokens: float | None
    cached_fraction: float | None
    appended: int
    recomputed: int
    resent_fraction: float | None
    ttft: float | None
    missed: int


@dataclass(frozen=True)
class Conversations:
    """Turns, and what they say about the way they are served."""

    conversations: int
    turns: list[Turn]
    note: str | None


@dataclass(frozen=True)
class Workload:
    """Traffic of one group of requests."""

    key: str | None
    arrivals: Arrivals
    input_tokens: Distribution
    cached_tokens: Distribution
    output_tokens: Distribution
    concurrency: Distribution
    conversations: Conversations


def workload(found: Diagnosis, key: str | None, rows: Index) -> Workload:
    """Describe some of the window's requests."""
    s = found.situation
    r = s.requests
    seconds = (s.loaded.scope.to_ns - s.loaded.scope.from_ns) / 1e9
    return Workload(
        key,
        arrivals(np.sort(r.start[rows]), seconds),
        distribution(r.input_tokens[rows]),
        distribution(r.cached_tokens[rows]),
        distribution(r.output_tokens[rows]),
        distribution(under_way(r)[rows].astype(float)),
        conversations(s, rows),
    )


def arrivals(start: Floats, seconds: float) -> Arrivals:
    """Burstiness of sorted arrival times (seconds) over a window."""
    if len(start) < 3:
        return Arrivals(len(start), len(start) / seconds, None, None, None)
    gaps = np.diff(start)
    span = max(int(np.ceil(start[-1] - start[0])), 1)
    counts = np.histogram(start, np.arange(span + 1) + start[0])[0]
    cv = float(gaps.std() / gaps.mean()) if gaps.mean() > 0 else None
    dispersion = float(counts.var() / counts.mean()) if counts.mean() > 0 else None
    return Arrivals(len(start), len(start) / seconds, float(counts.max()), cv, dispersion)


def distribution(values: Floats) -> Distribution:
    """Percentiles and counts by powers of two of the finite values."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Distribution(0, None, None, None, None, None, {})
    p50, p95, p99 = (float(v) for v in np.percentile(known, (50, 95, 99)))
    edge = np.ceil(np.log2(np.maximum(known, 1))).astype(int)
    found, many = np.unique(edge, return_counts=True)
    buckets = {str(2**e): int(n) for e, n in zip(found.tolist(), many.tolist(), strict=True)}
    return Distribution(len(known), float(known.mean()), p50, p95, p99, float(known.max()), buckets)


def conversations(s: Situation, rows: Index) -> Conversations:
    """Number the turns of each conversation by their start."""
    r = s.requests
    named = rows[r.conversation[rows] != 0]
    if not len(named):
        return Conversations(0, [], None)
    order = named[np.lexsort((r.start[named], r.conversation[named]))]
    number = np.zeros(len(order), int)
    for _, members in groups(r.conversation[order]):
        number[members] = np.arange(1, len(members) + 1)
    turns = [
        _turn(s, turn, order[number == turn]) for turn in range(1, min(int(number.max()), MOST_TURNS) + 1)
    ]
    return Conversations(len(np.unique(r.conversation[order])), turns, _note(s, turns))


def _turn(s: Situation, turn: int, rows: Index) -> Turn:
    r, t = s.requests, s.transfers
    prompt, cached = r.input_tokens[rows], r.cached_tokens[rows]
    local = r.local_prompt_tokens[rows] > 0
    hand_off = s.hand_off[rows]
    hand_off = hand_off[hand_off >= 0]
    sent, held = t.tokens[hand_off], t.already_held_tokens[hand_off]
    known = np.isfinite(sent) & np.isfinite(held)
    ttft = r.ttft[rows]
    both = np.isfinite(prompt) & np.isfinite(cached)
    return Turn(
        turn,
        len(rows),
        float(np.nanmedian(prompt)) if np.isfinite(prompt).any() else None,
        float(cached[both].sum() / prompt[both].sum()) if both.any() and prompt[both].sum() > 0 else None,
        int((local & r.appended[rows]).sum()),
        int((local & ~r.appended[rows]).sum()),
        float(held[known].sum() / sent[known].sum()) if known.any() and sent[known].sum() > 0 else None,
        float(np.nanmedian(ttft)) if np.isfinite(ttft).any() else None,
        int((r.account[rows] == Account.MISSED).sum()),
    )


def _note(s: Situation, turns: list[Turn]) -> str | None:
    """Whether later turns fare worse than their new tokens explain, and through what."""
    first, later = turns[0], [turn for turn in turns[1:] if turn.requests >= 5]
    if not later or first.ttft is None or not first.input_tokens:
        return None
    resent = [turn.resent_fraction for turn in later if turn.resent_fraction]
    if resent and max(resent) >= 0.3:
        again = f"later turns send {max(resent):.0%} of tokens that decode already holds"
        return f"{again}: the design suits one-shot prompts"
    fresh = [
        (turn.ttft, turn.input_tokens * (1 - (turn.cached_fraction or 0.0)))
        for turn in later
        if turn.ttft and turn.input_tokens
    ]
    per_token = [ttft / new for ttft, new in fresh if new > 0]
    if per_token and float(np.median(per_token)) > WORSE * first.ttft / first.input_tokens:
        return (
            "later turns wait longer per new token than first turns: "
            "their prefix is not reused where they run"
        )
    return None
