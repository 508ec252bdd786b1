"""What verdicts are made from, as columns: requests, KV hand-offs, processes.

Times are seconds from `origin`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from collector.phases import DECODE_PARTS, TTFT_PARTS, Phase

Floats = NDArray[np.float64]
Codes = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Index = NDArray[np.intp]

PART = {name: number for number, name in enumerate(TTFT_PARTS)}
"""Column of `Requests.exposed` by name."""
DECODE_PART = {name: number for number, name in enumerate(DECODE_PARTS)}
PHASE = {str(phase): number for number, phase in enumerate(Phase)}
"""Column of `Requests.phase_from` and so on by name."""


class Account(IntEnum):
    """What became of a request (telemetry convention, Accounting)."""

    MET = 0
    MISSED = 1
    CANCELLED = 2
    INVALID = 3
    INCOMPLETE = 4


class Outcome(IntEnum):
    """How a request ended."""

    UNKNOWN = 0
    OK = 1
    CANCELLED = 2
    INTERRUPTED = 3
    REJECTED = 4
    INVALID = 5
    TIMEOUT = 6
    ERROR = 7


class Freed(IntEnum):
    """Why KV was given back."""

    NO = 0
    IMPORTED = 1
    CANCELLED = 2
    EXPIRED = 3
    ABORTED = 4
    WORKER_LOST = 5


class Status(IntEnum):
    """How a transfer ended, in the words of its spans."""

    UNKNOWN = 0
    OK = 1
    FAILED = 2
    EXPIRED = 3
    PARTIAL = 4
    SKIPPED = 5


class Transport(IntEnum):
    """What carried the bytes."""

    UNKNOWN = 0
    RDMA = 1
    TCP = 2
    NVLINK = 3
    SHM = 4
    OTHER = 5


@dataclass(frozen=True)
class Requests:
    """Requests of the widened window, one row each; nan: not known, code 0: not named."""

    key: Codes
    """(rows, 2): the two halves of request_key."""
    first_bucket: NDArray[np.uint32]
    """Unix seconds: with the key, the table's own order."""
    inside: Flags
    objective: NDArray[np.uint8]
    """Which objective it is judged by, from 0."""
    start: Floats
    lasted: Floats
    account: NDArray[np.uint8]
    outcome: NDArray[np.uint8]
    answered: Flags
    censored: Flags
    attempts: NDArray[np.uint8]
    ttft: Floats
    tpot: Floats
    ttft_uncertainty: Floats
    ttft_limit: Floats
    tpot_limit: Floats
    exposed: Floats
    """(rows, 12), in the order of TTFT_PARTS."""
    exposed_decode: Floats
    lasted_by_phase: Floats
    phase_from: Floats
    """(rows, 11), seconds from origin, in the order of Phase; of the final attempt."""
    phase_until: Floats
    preempted: Floats
    stalled: Floats
    composite: Floats
    """Seconds of `unattributed` that lie within phases which spans time as one."""
    within: NDArray[np.uint16]
    """Those phases, of the longest such time: a bit each, in the order of Phase."""
    prefill_worker: Codes
    decode_worker: Codes
    request_id: Codes
    conversation: Codes
    tenant: Codes
    route: Codes
    cohort: Codes
    model: Codes
    system: Codes
    input_tokens: Floats
    output_tokens: Floats
    cached_tokens: Floats
    local_prompt_tokens: Floats
    appended: Flags
    spans: NDArray[np.uint32]
    duplicate_spans: NDArray[np.uint32]
    late_spans: NDArray[np.uint32]
    joined_by_id: Flags
    masked: Flags
    impossible: Flags

    def __len__(self) -> int:
        return len(self.start)

    @property
    def missed(self) -> Flags:
        """Rows asked for that missed an objective."""
        found: Flags = self.inside & (self.account == Account.MISSED)
        return found

    @property
    def end(self) -> Floats:
        """When the request ended."""
        return self.start + self.lasted

    def began(self, phase: str) -> Floats:
        """When a phase began."""
        return self.phase_from[:, PHASE[phase]]

    def ended(self, phase: str) -> Floats:
        """When a phase ended."""
        return self.phase_until[:, PHASE[phase]]

    def duration(self, phase: str) -> Floats:
        """How long a phase lasted itself, exposed or not; 0 when it was not seen."""
        return self.lasted_by_phase[:, PHASE[phase]]


@dataclass(frozen=True)
class Transfers:
    """KV hand-offs, one row each; instants are nan when not seen."""

    request: Index
    """Row of the request it belongs to; -1 when that was not loaded."""
    transfer_id: Codes
    producer: Codes
    consumer: Codes
    at: Floats
    published: Floats
    lease_end: Floats
    asked: Floats
    moved: Floats
    import_start: Floats
    imported: Floats
    reserved: Floats
    reserved_until: Floats
    freed: Floats
    freed_why: NDArray[np.uint8]
    expired: Floats
    """When the producer gave it back because the lease had ended."""
    given_back: Floats
    given_back_why: NDArray[np.uint8]
    duplicate_releases: NDArray[np.uint32]
    status: NDArray[np.uint8]
    transport: NDArray[np.uint8]
    connector: Codes
    bytes: Floats
    tokens: Floats
    descriptors: Floats
    already_held_tokens: Floats
    post: Floats
    waited: Floats
    link_gb_s: Floats
    reserved_bytes: Floats
    reserved_tokens: Floats
    attempt: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.at)

    @property
    def gave_up(self) -> Flags:
        """Whether it ended without its bytes: how long that took says nothing of the path."""
        found: Flags = np.isin(self.status, (Status.FAILED, Status.EXPIRED, Status.PARTIAL))
        return found

    @property
    def seconds(self) -> Floats:
        """From asked for to moved; nan when no transfer was seen or it took no time."""
        took = self.moved - self.asked
        return np.where(took > 0, took, np.nan)


@dataclass(frozen=True)
class Worker:
    """A process as it named itself; several starts of one name are several members of `starts`."""

    name: str
    role: str
    host: str
    gpus: float
    starts: tuple[float, ...]
    versions: tuple[str, ...]
    agreed: Mapping[str, str]
    """pd.compat.*: what both sides of a hand-off must agree on."""


@dataclass(frozen=True)
class ClockOffset:
    """What was subtracted from a worker's stamps in one slice of five minutes, nanoseconds; bounds of it."""

    worker: str
    slice_ns: int
    offset_ns: int
    low_ns: int
    high_ns: int
    contradictory: bool


def table_fields(table: type[Requests | Transfers]) -> list[str]:
    """Names of the columns of a table."""
    return [field.name for field in fields(table)]
