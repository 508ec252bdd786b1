"""How a request's time is shared out among its phases: the telemetry convention's definitions, word for word.

Pure and slow on purpose: the store does the same in SQL, and the tests hold the two equal. Times are Unix
nanoseconds, durations nanoseconds; an interval holds its start and not its end.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from collector.phases import DECODE_PARTS, TTFT_PARTS, TTFT_PHASES, Phase

_ORDER = {phase: place for place, phase in enumerate(Phase)}


@dataclass(frozen=True)
class Interval:
    """Time in which a phase was active; without a phase, a composite: time that holds all of `covers`."""

    start_ns: int
    end_ns: int
    phase: Phase | None = None
    covers: tuple[Phase, ...] = ()
    attempt: int = 1
    reason: str = ""
    preempted: bool = False
    """Not a phase either: decode was preempted."""

    def active(self, start_ns: int, end_ns: int) -> bool:
        """Whether it spans all of a segment."""
        return self.start_ns <= start_ns and end_ns <= self.end_ns

    @property
    def composite(self) -> bool:
        """Whether it bounds several phases instead of being one."""
        return bool(self.covers)

    @property
    def bounds(self) -> tuple[int, int, str]:
        """What composites are told apart and ordered by: the first phase, the set of phases, the reason."""
        return min(_ORDER[p] for p in self.covers), sum(1 << _ORDER[p] for p in self.covers), self.reason


@dataclass(frozen=True)
class CompositeTime:
    """Time before the first token that nothing explains but a composite; it is part of `unattributed`."""

    covers: tuple[Phase, ...]
    exposed_ns: int
    reason: str


def dispatches(intervals: Iterable[Interval]) -> dict[int, int]:
    """When each attempt was dispatched to a worker, by attempt, where that can be told.

    It is when the attempt left the router's queue; where that was not seen, when its first work beyond the
    router began.
    """
    intervals = list(intervals)
    found = {}
    for attempt in {interval.attempt for interval in intervals}:
        mine = [interval for interval in intervals if interval.attempt == attempt]
        queued = [i.end_ns for i in mine if i.phase is Phase.ROUTER_QUEUE]
        worked = [i.start_ns for i in mine if i.phase and _ORDER[i.phase] > _ORDER[Phase.TOKENIZE]]
        if queued or worked:
            found[attempt] = max(queued) if queued else min(worked)
    return found


def cut_superseded(intervals: Sequence[Interval]) -> list[Interval]:
    """The intervals, those of a superseded attempt ending at the next dispatch at the latest."""
    at = dispatches(intervals)
    cut = []
    for interval in intervals:
        later = [ns for attempt, ns in at.items() if attempt > interval.attempt]
        end_ns = max(interval.start_ns, min([interval.end_ns, *later]))
        cut.append(replace(interval, end_ns=end_ns))
    return cut


def lost_to_retries(intervals: Sequence[Interval], start_ns: int, end_ns: int) -> tuple[int, int] | None:
    """From the first attempt's dispatch to the last one's before `end_ns`; None when there was only one.

    Of a first attempt that left no trace only the request's start bounds the dispatch.
    """
    at = dispatches(intervals)
    superseding = [ns for attempt, ns in at.items() if attempt > 1 and ns < end_ns]
    first, last = at.get(1, start_ns), max(superseding, default=0)
    return (first, last) if first < last else None


def exposed(intervals: Sequence[Interval], start_ns: int, end_ns: int) -> dict[str, int]:
    """Exposed time by TTFT part in [start, end]: a segment belongs to the earliest active phase.

    The parts add up to the length of [start, end].
    """
    parts = dict.fromkeys(TTFT_PARTS, 0)
    for width, owner in _owners(intervals, start_ns, end_ns):
        parts[owner if isinstance(owner, str) else "unattributed"] += width
    return parts


def composites(intervals: Sequence[Interval], start_ns: int, end_ns: int) -> list[CompositeTime]:
    """What composites hold of the unattributed time in [start, end], in pipeline order."""
    held: dict[tuple[int, int, str], int] = {}
    for width, owner in _owners(intervals, start_ns, end_ns):
        if isinstance(owner, Interval):
            held[owner.bounds] = held.get(owner.bounds, 0) + width
    return [
        CompositeTime(tuple(phase for phase in Phase if covered >> _ORDER[phase] & 1), ns, reason)
        for (_, covered, reason), ns in sorted(held.items())
        if ns
    ]


def decode_parts(
    intervals: Sequence[Interval], first_ns: int, last_ns: int, stalled_ns: int = 0
) -> dict[str, int]:
    """The decode interval [first token, last token] by part; adds up to its length.

    Preempted time is not running, a prompt computed again or KV still arriving is named as such. When the
    reader stalled is not known, only for how long: it is taken from time nothing explains, then from running.
    """
    parts = dict.fromkeys(DECODE_PARTS, 0)
    counted = cut_superseded(intervals)
    for start, end in _segments(counted, first_ns, last_ns):
        active = [interval for interval in counted if interval.active(start, end)]
        phases = {interval.phase for interval in active}
        if any(interval.preempted for interval in active):
            part = "preempted"
        elif Phase.PREFILL_COMPUTE in phases:
            part = "recompute"
        elif phases & {Phase.KV_TRANSFER, Phase.KV_IMPORT}:
            part = "handoff"
        elif Phase.DECODE in phases:
            part = "running"
        else:
            part = "unattributed"
        parts[part] += end - start
    for part in ("unattributed", "running"):
        blocked = min(max(stalled_ns - parts["blocked"], 0), parts[part])
        parts[part] -= blocked
        parts["blocked"] += blocked
    return parts


def union_ns(intervals: Iterable[Interval]) -> int:
    """Time covered by at least one of the intervals."""
    total, reached = 0, None
    for interval in sorted(intervals, key=lambda i: (i.start_ns, i.end_ns)):
        start = interval.start_ns if reached is None else max(interval.start_ns, reached)
        total += max(0, interval.end_ns - start)
        reached = interval.end_ns if reached is None else max(reached, interval.end_ns)
    return total


def _owners(
    intervals: Sequence[Interval], start_ns: int, end_ns: int
) -> list[tuple[int, str | Interval | None]]:
    """Each segment's length with what it belongs to: a TTFT part, else a composite, else nothing."""
    lost = lost_to_retries(intervals, start_ns, end_ns)
    counted = cut_superseded(intervals)
    owned: list[tuple[int, str | Interval | None]] = []
    for start, end in _segments(counted, start_ns, end_ns, lost or ()):
        active = [interval for interval in counted if interval.active(start, end)]
        phases = [i.phase for i in active if i.phase in TTFT_PHASES]
        bounding = [i for i in active if i.composite]
        owner: str | Interval | None = None
        if lost and lost[0] <= start and end <= lost[1]:
            owner = "retry"
        elif phases:
            owner = str(min((phase for phase in phases if phase), key=lambda phase: _ORDER[phase]))
        elif bounding:
            owner = min(bounding, key=lambda i: i.bounds)
        owned.append((end - start, owner))
    return owned


def _segments(
    intervals: Iterable[Interval], start_ns: int, end_ns: int, also: Iterable[int] = ()
) -> Iterable[tuple[int, int]]:
    """[start, end] cut at every boundary of the intervals."""
    edges = {start_ns, end_ns, *also}
    for interval in intervals:
        edges |= {interval.start_ns, interval.end_ns}
    return pairwise(sorted(edge for edge in edges if start_ns <= edge <= end_ns))
