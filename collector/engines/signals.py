"""How a serving system's metrics are read: rules as plain data.

An adapter lists `SignalRule`s; the store evaluates them in SQL (`pool_signals`). Units after `scale` are
those of the telemetry convention: seconds, bytes, tokens, fractions 0-1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

Labels = tuple[tuple[str, str], ...]
"""Conditions on labels that must all hold: (name, value). '*' means present, '' absent, 'x*' starts with x,
'!x' is anything but x.
"""


def matches(conditions: Labels, labels: Mapping[str, str]) -> bool:
    """Whether labels meet all conditions, as the store's SQL decides it."""
    return all(_meets(wanted, labels.get(name, "")) for name, wanted in conditions)


def _meets(wanted: str, value: str) -> bool:
    if wanted == "*":
        return value != ""
    if wanted.startswith("!"):
        return value != wanted[1:]
    if wanted.endswith("*"):
        return value.startswith(wanted[:-1])
    return value == wanted


class Reads(StrEnum):
    """Which number of a point is read: the value of a gauge or sum, or a distribution's sum or count."""

    VALUE = "value"
    SUM = "sum"
    COUNT = "count"


FURTHER_SIGNALS: tuple[str, ...] = (
    "kv_capacity_tokens",
    "kv_capacity_blocks",
    "kv_block_tokens",
    "kv_used_tokens",
    "late_kv_reads_total",
    "transfer_failed_notifications_total",
    "requests_total",
    "failed_requests_total",
    "aborted_requests_total",
    "cancelled_requests_total",
    "rejected_requests_total",
    "retried_requests_total",
    "generation_tokens_per_s",
    "prefix_hit_fraction",
    "replicas_wanted",
    "process_start_time",
    "pod_restarts_total",
    "gpu_memory_used_bytes",
    "gpu_memory_free_bytes",
)
"""Signals beyond the convention's, which verdicts read where an engine offers them."""

_COUNTERS = ("_total", "_seconds_sum", "_seconds_count")


def _spelled(name: str) -> tuple[str, ...]:
    return (name, name.replace(":", "_")) if ":" in name else (name,)


def is_counter(signal: str) -> bool:
    """Whether a signal accumulates: it is read as increases, not as a level."""
    return signal.endswith(_COUNTERS)


@dataclass(frozen=True)
class SignalRule:
    """What points of one metric mean."""

    metric: str
    """Name as the engine exports it. A counter is also known without `_total`, and any with `_` for `:`."""
    signal: str
    scale: float = 1.0
    reads: Reads = Reads.VALUE
    where: Labels = ()
    part: str = ""
    """What share of the signal this is (a queue, a source of tokens); '' is the whole."""
    part_label: str = ""
    """Label that names the part; put before `part` when both are given."""
    value_labels: tuple[str, ...] = ()
    """Labels whose product is multiplied with the value: information metrics hold numbers as text."""
    as_rate: bool = False
    """The metric accumulates and the signal is its rate per second."""
    worker_labels: tuple[str, ...] = ()
    """Labels that name the worker, the first present one counts; else the sender is the worker.

    'hex:NAME': the label's value is a hexadecimal number that requests name in decimal. Of a URL host and
    port are the name.
    """
    model_label: str = ""
    pool_label: str = ""
    pool: str = ""
    """The pool whose workers export this metric, used when nothing better tells."""
    repeated_by: tuple[str, ...] = ()
    """Labels whose values repeat the same figure (tensor-parallel ranks): only '0' or absent is read."""
    rank: int = 1
    """When one worker exports several metrics of one signal and part, the lowest rank is read."""
    moves: bool = False
    """It changes whenever the worker has traffic: one that stands still is dead."""
    note: str = ""
    """A quirk of its unit or meaning, for people."""

    @property
    def counter(self) -> bool:
        """Whether the metric's points accumulate."""
        return self.as_rate or is_counter(self.signal)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name the metric may arrive under."""
        names = [self.metric]
        if self.counter and self.metric.endswith("_total"):
            names.append(self.metric.removesuffix("_total"))
        return tuple(spelled for name in names for spelled in _spelled(name))


@dataclass(frozen=True)
class UnmappedMetric:
    """A metric that is known and stored but feeds no signal, and why."""

    metric: str
    reason: str

    @property
    def names(self) -> tuple[str, ...]:
        """Every name the metric may arrive under."""
        return _spelled(self.metric)


@dataclass(frozen=True)
class InfoMetric:
    """Start-up information that a system tells as labels of a metric."""

    metric: str
    labels: tuple[tuple[str, str], ...]
    """(label, what it is: the part of `pd.compat.*` behind the dot)."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name the metric may arrive under."""
        return _spelled(self.metric)


@dataclass(frozen=True)
class InfoPage:
    """Start-up information that a system tells as one JSON object."""

    paths: tuple[str, ...]
    """Where versions of the system have it, the newest first."""
    fields: tuple[tuple[str, str], ...]
    """(field of the object, resource attribute)."""
    words: tuple[tuple[str, str], ...] = ()
    """The system's words for pools, (its, the convention's)."""
