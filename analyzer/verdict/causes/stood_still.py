"""Time in which the worker did nothing at all: nobody's, for no telemetry of requests tells why."""

import numpy as np

from analyzer.verdict.evidence import Evidence, count, number
from analyzer.verdict.rule import Claim, Rule
from analyzer.verdict.situation import Situation
from analyzer.verdict.standstill import overlap, standstills
from analyzer.verdict.tables import PART, Flags, Floats
from analyzer.verdict.vocabulary import Cause
from analyzer.verdict.worker_side import before_decode, on_decode

_ON_DECODE = ("kv_transfer", "decode_queue", "kv_import", "first_decode_step")


def _in_phase(phase: str) -> Claim:
    def claim(s: Situation) -> Floats:
        r = s.requests
        since, until = s.of(r.began(phase)), s.of(r.ended(phase))
        of_prefill, of_decode = (overlap(s, w, since, until) for w in (s.prefill_worker, s.decode_worker))
        # moving KV takes both sides
        still = of_prefill if phase.startswith("prefill") else of_decode
        still = np.maximum(of_prefill, of_decode) if phase == "kv_transfer" else still
        return _share(still, s.exposed[:, PART[phase]])

    return claim


def before_decode_has_it(s: Situation) -> Floats:
    """The part of the uncovered time in which the prompt was computed, and decode, which stood still, had it
    not, or had it in no phase that is known.
    """
    r = s.requests
    first, handed = s.of(r.start + r.ttft), s.of(r.ended("prefill_compute"))
    unknown = ~np.isfinite(handed) & s.of(on_decode(r))
    still = overlap(s, s.decode_worker, np.where(unknown, s.of(r.start), handed), first)
    for phase in _ON_DECODE:
        still -= overlap(s, s.decode_worker, s.of(r.began(phase)), s.of(r.ended(phase)))
    return _share(np.maximum(still, 0.0), s.exposed[:, PART["unattributed"]])


def before_prefill_has_it(s: Situation) -> Floats:
    """The part of the uncovered time in which prefill, which stood still, had yet to take the prompt."""
    r = s.requests
    taken = np.where(
        np.isfinite(s.of(r.ended("prefill_queue"))), s.of(r.ended("prefill_queue")), s.of(r.start + r.ttft)
    )
    since = np.where(s.of(before_decode(r)), s.of(r.start), np.nan)
    still = overlap(s, s.prefill_worker, since, taken)
    still -= overlap(s, s.prefill_worker, s.of(r.began("prefill_queue")), s.of(r.ended("prefill_queue")))
    return _share(np.maximum(still, 0.0), s.exposed[:, PART["unattributed"]])


def between_tokens(s: Situation) -> Floats:
    """The part of what streams were late by that they lost while their worker stood still."""
    r = s.requests
    first, gaps = s.of(r.start + r.ttft), np.maximum(s.of(r.output_tokens) - 1, 1.0)
    still = overlap(s, s.decode_worker, first, first + s.of(r.tpot) * gaps)
    return _share(still / gaps, s.over_tpot)


def _share(still: Floats, whole: Floats) -> Floats:
    share: Floats = np.clip(still / np.where(whole > 0, whole, np.inf), 0.0, 1.0)
    return share


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """How long a worker stood still that held them, and how many of them were there."""
    asked = s.rows[chosen]
    found = [one for one in standstills(s) if np.isin(one.held, asked).any()]
    if not found:
        return []
    longest = max(found, key=lambda one: one.until - one.since)
    held = np.isin(s.rows, np.concatenate([one.held for one in found]))
    took = Evidence("worker.stood_still", longest.until - longest.since, "s", "derived", longest.since)
    workers = len({one.worker for one in found})
    return [took, *count("held_requests", held & chosen), *number("standing_workers", workers, "workers")]


NEXT = (
    "The worker did nothing while requests were there: look at its process and machine at that time (paused, "
    "starved of processor, compiling for a first use, waiting for storage)."
)


def _rule(parts: tuple[str, ...], claim: Claim) -> Rule:
    return Rule(
        Cause.INSUFFICIENT_EVIDENCE, parts, claim, explain, NEXT, excludes="workers that are slow as a rule"
    )


ON_PREFILL = tuple(_rule((phase,), _in_phase(phase)) for phase in ("prefill_queue", "prefill_compute"))
ON_DECODE = tuple(_rule((phase,), _in_phase(phase)) for phase in _ON_DECODE)
UNCOVERED = tuple(_rule(("unattributed",), claim) for claim in (before_prefill_has_it, before_decode_has_it))
TOKENS = _rule(("tpot.running",), between_tokens)
