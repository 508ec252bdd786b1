"""Prefill's queues laid again with prompts that come sooner, and what that says of those let go at once.

What holds prompts back in front of prefill spreads them, and a backlog there moves to prefill's queue; but
where it stands still and then lets everything go, the queue that follows is its doing.
"""

from functools import partial

import numpy as np

from analyzer.queue_replay import waits
from analyzer.verdict.causes import router_queue, tokenizer_slow
from analyzer.verdict.causes.pool_state import NOTABLE
from analyzer.verdict.evidence import Evidence, median
from analyzer.verdict.quoted import part
from analyzer.verdict.rule import Rule
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags, Floats
from analyzer.verdict.vocabulary import Cause

FITS = 0.5
"""A queue laid by arithmetic that is off by more of what was waited tells nothing of that wait."""


def waits_with(s: Situation, sooner: Floats) -> tuple[Floats, Floats]:
    """Seconds each request of the window would wait for prefill: as they came, and so much sooner."""
    r = s.requests
    workers, arrivals = s.pools.prompt_worker, np.fmin(r.began("prefill_queue"), r.began("prefill_compute"))
    at_once = np.ones(len(r))
    for code in s.pools.prefill_workers.tolist():
        at_once[workers == code] = max(1.0, s.pools.prefill_running.while_busy(int(code)))
    service = r.duration("prefill_compute") / at_once
    return waits(workers, arrivals, service), waits(workers, arrivals - sooner, service)


def let_go_at_once(s: Situation, phase: str) -> Floats:
    """The part of each wait for prefill that would not have been had no phase before held prompts back."""
    return _let_go(s, s.requests.duration(phase))


def let_go_untold(s: Situation) -> Floats:
    """The same of time in front of prefill of which nothing is traced: whatever held prompts back there."""
    return _let_go(s, _before_prefill(s))


def _before_prefill(s: Situation) -> Floats:
    """Seconds of each request of the window before prefill had it, where none of it is traced; else 0."""
    r = s.requests
    before = np.fmin(r.began("prefill_queue"), r.began("prefill_compute")) - r.start
    traced = np.isfinite(r.began("router_queue")) | np.isfinite(r.began("tokenize"))
    return np.where(traced, 0.0, np.maximum(np.nan_to_num(before), 0.0))


def _let_go(s: Situation, lasted: Floats) -> Floats:
    r = s.requests
    held = np.where(r.attempts == 1, np.nan_to_num(lasted), 0.0)
    if not (held > NOTABLE * r.ttft_limit).any():
        return np.zeros(len(s.rows))
    now, then = (s.of(found) for found in waits_with(s, held))
    waited = s.of(r.duration("prefill_queue"))
    fits = np.abs(now - waited) <= FITS * waited
    part = np.clip((now - then) / np.where(now > 0, now, np.inf), 0.0, 1.0)
    return np.where(fits, np.nan_to_num(part), 0.0)


def explain_untold(s: Situation, chosen: Flags) -> list[Evidence]:
    """The time in front of prefill that no span covers, and the queue that followed."""
    before = s.of(_before_prefill(s))
    return [*median("before_prefill", before, chosen, "s", "derived"), *part(s, "prefill_queue", chosen)]


_EXCLUDES = "queues that would have been there without it"
ROUTER = Rule(
    Cause.ROUTER_QUEUE, ("prefill_queue",), partial(let_go_at_once, phase="router_queue"),
    router_queue.explain,
    "The router stood still and then dispatched everything at once: look at what stops it (one event loop, "
    "garbage collection, CPU limits).",
    needs=("router_queue", "prefill_compute"), excludes=_EXCLUDES, confidence=0.85,
)  # fmt: skip
TOKENIZER = Rule(
    Cause.TOKENIZER_SLOW, ("prefill_queue",), partial(let_go_at_once, phase="tokenize"),
    tokenizer_slow.explain,
    "Tokenising stood still and then let everything go at once: keep heavy preparation (images, templates) "
    "off its thread.",
    needs=("tokenize", "prefill_compute"), excludes=_EXCLUDES, confidence=0.85,
)  # fmt: skip
UNTOLD = Rule(
    Cause.INSUFFICIENT_EVIDENCE, ("prefill_queue",), let_go_untold, explain_untold,
    "Something in front of prefill held prompts back and then let them go at once: trace the router to see "
    "what.",
    excludes=_EXCLUDES,
)  # fmt: skip
