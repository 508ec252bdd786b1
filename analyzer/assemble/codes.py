"""Numbers and places by which the assembled tables say what a rule says in words."""

from collections.abc import Iterable

from collector.engines.rules import Source
from collector.phases import Phase

PHASE_CODE: dict[Phase, int] = {phase: code for code, phase in enumerate(Phase, start=1)}
PREEMPTED_CODE = 12
"""Stands among the phases for a stretch in which an engine had put the request off."""

MOST_ATTEMPTS = 250
"""Higher numbers of an attempt are taken for this one."""

SOURCE_CODE: dict[Source, int] = {Source.OBSERVED: 1, Source.DERIVED: 2, Source.BOUNDED: 3}

KV_TEXT = ("status", "reason", "connector", "transport", "source", "destination", "rank")
KV_NUMBERS = (
    "bytes", "tokens", "descriptors", "already_held_tokens",
    "post_ns", "wait_ns", "lease_ns", "lease_s", "link_gb_s",
)  # fmt: skip
"""What a KV event says, in the order in which the SQL finds it."""


def covers_mask(phases: Iterable[Phase]) -> int:
    """Bit n-1 set for each phase of code n."""
    return sum(1 << (PHASE_CODE[phase] - 1) for phase in phases)
