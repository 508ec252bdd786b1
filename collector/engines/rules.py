"""How a serving system's spans are read: rules as plain data.

An adapter (one file per system) lists `SpanRule`s. The store evaluates them for every span in SQL; the plain
Python in `analyzer/assemble/oracle_reading.py` evaluates the same rules and must agree. Times are
Unix nanoseconds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from collector import conventions as names
from collector.engines.signals import InfoMetric, InfoPage, SignalRule, UnmappedMetric
from collector.phases import Phase

Where = tuple[tuple[str, str], ...]
"""Conditions on span attributes that must all hold: (name, value); value '*' means present, '' means
absent. '@status' is the span's status code, '@event:NAME' (with '*' or '') an event of the span,
'event:NAME:ATTRIBUTE' what its last event of that name says.
"""


class Role(IntEnum):
    """What a process does for a request; ANY on an output means it holds whatever the role."""

    ANY = 0
    PREFILL = 1
    DECODE = 2
    ROUTER = 3
    COLOCATED = 4


class Source(StrEnum):
    """How an interval is known."""

    OBSERVED = "observed"
    DERIVED = "derived"
    BOUNDED = "bounded"


class IdForm(IntEnum):
    """How an id names the request."""

    EXACT = 0
    # An OpenAI-style response id: `cmpl-ID-0` or `chatcmpl-ID`.
    RESPONSE = 1
    # The same with an engine's own suffix, which differs between the legs: `cmpl-ID-0-8a902907`.
    ENGINE = 2


class KvEvent(StrEnum):
    """What happens to the KV of one hand-off."""

    PUBLISH = "publish"
    TRANSFER = "transfer"
    IMPORT = "import"
    RELEASE = "release"
    RESERVE = "reserve"


NEXT_ATTEMPT = "@next"
"""Instead of an attribute that names the attempt: what is done before one is sent off belongs to it."""


class Root(IntEnum):
    """Whether a span stands for the whole request."""

    NO = 0
    REQUEST = 1
    # Stands for the request only when no REQUEST span of it came within the grace time.
    FALLBACK = 2


@dataclass(frozen=True)
class Instant:
    """A point in time on a span: an anchor plus durations held in attributes.

    anchor: 'start', 'end', 'event:NAME' (first event of that name) or 'attr:NAME' (Unix nanoseconds); of a
    mark also 'each:NAME', every event of that name.
    plus: (attribute, nanoseconds per unit); the instant is unknown when one of them is missing.
    """

    anchor: str = "start"
    plus: tuple[tuple[str, float], ...] = ()


EACH = "each:"
START = Instant("start")
END = Instant("end")


@dataclass(frozen=True)
class Interval:
    """Time a span says one phase took."""

    phase: Phase
    start: Instant = START
    end: Instant = END
    source: Source = Source.OBSERVED
    role: Role = Role.ANY
    where: Where = ()
    reason: str = ""


@dataclass(frozen=True)
class Composite:
    """Time known to hold several phases, not how much of each: it bounds them and feeds no single one."""

    covers: tuple[Phase, ...]
    reason: str
    start: Instant = START
    end: Instant = END
    role: Role = Role.ANY
    where: Where = ()


@dataclass(frozen=True)
class Mark:
    """A named instant of the request. rank orders several of one name: the lowest is the most trustworthy."""

    name: str
    at: Instant
    rank: int = 1
    role: Role = Role.ANY
    where: Where = ()


@dataclass(frozen=True)
class Fact:
    """A property of the request: an attribute's value, or `value` when it is given. The lowest rank wins.

    key: a span attribute, or 'event:NAME:ATTRIBUTE' for what the last event of that name says.
    """

    name: str
    key: str = ""
    value: str = ""
    rank: int = 1
    role: Role = Role.ANY
    where: Where = ()


def engine_tokens(key: str, rank: int = 1, roles: Iterable[Role] = (Role.ANY,)) -> tuple[Fact, ...]:
    """What an engine, or its own frontend, tells of a request's output tokens, and that it told it."""
    told = ((key, "*"),)
    return tuple(
        fact
        for role in roles
        for fact in (
            Fact("output_tokens", key, rank=rank, role=role),
            Fact("output_tokens_by", value=names.COUNTED_BY_ENGINE, rank=rank, role=role, where=told),
        )
    )


@dataclass(frozen=True)
class Kv:
    """What a span says of one KV hand-off: it was published, moved, imported, released, or room was
    reserved for it.
    """

    event: KvEvent
    id: str = ""
    """Attribute that names the transfer; without one the request has a single transfer."""
    start: Instant = START
    end: Instant = END
    text: tuple[tuple[str, str], ...] = ()
    """(name, attribute, or '=value'): status, reason, connector, transport, source, destination, rank."""
    numbers: tuple[tuple[str, str, float], ...] = ()
    """(name, attribute, factor): bytes, tokens, descriptors, already_held_tokens, post_ns, wait_ns,
    link_gb_s, lease_ns (a Unix time in nanoseconds), lease_s (from the event's end)."""
    where: Where = ()


@dataclass(frozen=True)
class SpanRule:
    """What spans of one name, of names with one prefix, or of one instrumentation scope and kind mean.

    An exact name goes before a prefix, the longest prefix before a scope.
    """

    span: str = ""
    prefix: str = ""
    scope: str = ""
    kind: int = 0
    when: tuple[Where, ...] = ()
    """Spans are read when one of these holds, others of that name are not; empty: all are."""
    otherwise: str = ""
    """Why the spans for which none holds mean nothing, when that is known."""
    root: Root = Root.NO
    ids: tuple[str, ...] = ()
    """Attributes whose values name the request: spans that share one belong together."""
    id_form: IdForm = IdForm.EXACT
    calls: tuple[tuple[Where, Role], ...] = ()
    """The role of the process that this span called: its children play it, but for a router's own."""
    plays: tuple[tuple[Where, Role], ...] = ()
    """The role of the process that emitted this span, when nothing better tells."""
    attempt: str = ""
    """Attribute that numbers the attempt."""
    attempt_base: int = 1
    """The number that the first attempt carries."""
    attempt_id: str = ""
    """Attribute that names the attempt: a request's attempts are numbered by when their first span began.
    NEXT_ATTEMPT: that of the request's next span that says one.
    """
    dispatches: str = ""
    """Event by which the router says that it sends an attempt off: it ends that attempt's router queue."""
    intervals: tuple[Interval | Composite, ...] = ()
    marks: tuple[Mark, ...] = ()
    facts: tuple[Fact, ...] = ()
    kv: tuple[Kv, ...] = ()
    ignored: str = ""
    """Why nothing is read from these spans, when that is so."""
    needs: str = ""
    """What must be added to the system before it emits such spans."""

    @property
    def key(self) -> str:
        """What a span is matched by: its name, the start of it, or scope and kind."""
        if self.span:
            return f"name:{self.span}"
        return f"prefix:{self.prefix}" if self.prefix else f"scope:{self.scope}:{self.kind}"


@dataclass(frozen=True)
class Between:
    """Time between two marks of a request that no single span covers.

    covers: the phases that lie in it; none: the engine had put the request off, each time until the first
    `end` that comes later.
    """

    start: str
    end: str
    covers: tuple[Phase, ...]
    reason: str
    source: Source = Source.DERIVED

    @property
    def composite(self) -> bool:
        """True when more than one phase lies in it."""
        return len(self.covers) > 1


@dataclass(frozen=True)
class Adapter:
    """One serving system: how its spans are read and what is known about it."""

    name: str
    title: str
    rules: tuple[SpanRule, ...]
    between: tuple[Between, ...] = ()
    kv_lease_s: float | None = None
    """How long the producer keeps unread KV by default; None when the system has no such lease."""
    switch_on: str = ""
    """How telemetry is switched on, exactly."""
    checked_against: str = ""
    """The captures or the source that the rules were checked against."""
    known_lies: tuple[str, ...] = field(default=())
    signals: tuple[SignalRule, ...] = ()
    unmapped: tuple[UnmappedMetric, ...] = ()
    metrics_on: str = ""
    """How its metrics page is had, where it is not there by itself."""
    info: tuple[InfoMetric, ...] = ()
    pages: tuple[InfoPage, ...] = ()


def told_by_metrics(adapters: Iterable[Adapter]) -> list[list[str]]:
    """Rows (metric, label, name) of `info_rules`: which label of which metric tells what."""
    return [
        [name, label, part]
        for adapter in adapters
        for info in adapter.info
        for name in info.names
        for label, part in info.labels
    ]
