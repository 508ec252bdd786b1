"""Tokens come slower than the objective: a full pool runs large batches, or a step simply takes that long."""

import numpy as np

from analyzer.pools import AT_CAP, FULL_KV
from analyzer.verdict.evidence import Evidence, median
from analyzer.verdict.rule import Rule, everything, where
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags, Floats
from analyzer.verdict.vocabulary import Cause

AS_EXPECTED = 1.15
"""A step within this factor of what its batch explains is not slow by itself."""
VARIES = 1.3
"""Ratio of large to small batches from which on a fit can tell what the batch costs."""


def grown(s: Situation) -> Flags:
    """Streams whose step is what their batch explains, and would meet the objective at half the batch."""
    fit, known = s.step.fit, s.batch[np.isfinite(s.batch)]
    if fit is None or len(known) < 20:
        return np.zeros(len(s.rows), bool)
    small, large = np.percentile(known, (10, 90))
    if large < VARIES * max(small, 1.0):
        return np.zeros(len(s.rows), bool)
    context = s.of(s.requests.input_tokens) + np.nan_to_num(s.of(s.requests.output_tokens)) / 2
    batch = s.of(s.batch)
    half = np.column_stack([np.ones(len(batch)), batch / 2, batch / 2 * context])
    relieved = fit.predict(half) <= s.of(s.requests.tpot_limit)
    ordinary = s.of(s.requests.tpot) <= AS_EXPECTED * s.of(s.step.expected)
    return relieved & ordinary & (batch >= 4)


def crowded(s: Situation) -> Floats:
    """Streams of a worker that was full (cache, or slots with others waiting) while they ran."""
    since, until = (np.nan_to_num(edge) for edge in s.wait("decode"))
    middle = (since + until) / 2
    used = np.fmax(s.pools.kv_used(s.decode_worker, middle), s.pools.kv_used(s.decode_worker, until))
    running = s.pools.readings.read("running", s.decode_worker, middle)
    waiting = s.pools.decode_waiting.mean(s.decode_worker, since, until)
    most = s.pools.most(s.decode_worker, "running")
    full, _ = s.decode_full
    at_cap = (running >= AT_CAP * most) & (waiting >= 1.0) & full
    return where((used >= FULL_KV) | at_cap | grown(s))


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """Time per token, the batch, and the cache."""
    until = np.nan_to_num(s.wait("decode")[1])
    return [
        *median("tpot", s.of(s.requests.tpot), chosen),
        *median("objective.tpot", s.of(s.requests.tpot_limit), chosen, "s", "supplied"),
        *median("decode.batch", s.of(s.batch), chosen, "streams", "derived"),
        *median("tpot.expected", s.of(s.step.expected), chosen, "s", str(s.step.source)),
        *median("decode.kv_used_fraction", s.pools.kv_used(s.decode_worker, until), chosen, "fraction"),
    ]


STARVED = Rule(
    Cause.DECODE_STARVED, ("tpot.running",), crowded, explain,
    "Add decode capacity, or admit fewer streams per worker: batches grow because the pool is full.",
    needs=("kv_used_fraction",), excludes="decode with room", confidence=0.85,
)  # fmt: skip
BOUND = Rule(
    Cause.DECODE_BOUND, ("tpot.running",), everything, explain,
    "A decode step does not fit the objective at this batch: more tensor parallelism, fewer streams "
    "per worker, speculative decoding, or another objective.",
    needs=("decode",), excludes="pools that are full, prompts in the steps, preemption", confidence=0.85,
)  # fmt: skip
