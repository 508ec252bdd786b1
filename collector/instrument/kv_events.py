"""What the connector's hooks note on the engine's thread: small tuples, folded into spans elsewhere.

Instants are Unix nanoseconds. `request_id` is the engine's internal id.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Arrived(NamedTuple):
    """The scheduler has the request."""

    at_ns: int
    request_id: str
    headers: Mapping[str, str] | None


class Allocated(NamedTuple):
    """Blocks are allocated on a consumer, and the remote KV is asked for."""

    at_ns: int
    request_id: str
    transfer_id: str
    source: str | None
    tokens: int


class Finished(NamedTuple):
    """The engine is done with the request; `published` when its KV now waits for a consumer."""

    began_ns: int
    at_ns: int
    request_id: str
    status: str
    published: bool
    transfer_id: str
    blocks: int
    tokens: int | None
    lease_s: float | None


class RankTransfer(NamedTuple):
    """One rank's share of a transfer; None is not known.

    `asked_ns` when the rank was asked, `first_post_ns` when its first descriptor went out, `done_ns` when its
    last byte was seen.
    """

    rank: int
    asked_ns: int | None
    first_post_ns: int | None
    done_ns: int
    post_us: float | None
    bytes: int | None
    descriptors: int | None
    failed: bool


class Transferred(NamedTuple):
    """A rank's share is in, or has failed."""

    request_id: str
    share: RankTransfer


class Received(NamedTuple):
    """All ranks are done; the scheduler may use the KV, or knows that it failed."""

    at_ns: int
    request_id: str
    failed: bool


class Renewed(NamedTuple):
    """The consumer renewed the lease of published KV."""

    at_ns: int
    request_id: str
    expires_ns: int


class Released(NamedTuple):
    """Published KV was let go; `expired` is None where the connector does not say why."""

    at_ns: int
    request_id: str
    expired: bool | None


Event = Arrived | Allocated | Finished | Transferred | Received | Renewed | Released


@dataclass(slots=True)
class WorkerFacts:
    """What the ranks of one engine step saw, carried to the scheduler with the engine's own worker metadata.

    vLLM pickles it and joins those of several ranks with `aggregate`; `inner` is the wrapped connector's.
    """

    transfers: list[tuple[str, int, int | None, int, tuple[tuple[Any, ...], ...], bool]] = field(
        default_factory=list
    )
    """Of each that is in: request, rank, when it was asked for and done (ns; None not known), start (µs),
    posting time (µs), bytes and descriptors of each read the transport was given, and whether it failed."""
    expired: frozenset[str] = frozenset()
    sees_expiry: bool = False
    renewals: tuple[tuple[str, int], ...] = ()
    """Requests whose lease was renewed, and until when."""
    inner: Any = None

    def aggregate(self, other: Any) -> "WorkerFacts":
        """The facts of both; `other` may be a rank's bare inner metadata."""
        theirs = other if isinstance(other, WorkerFacts) else WorkerFacts(inner=other)
        renewals = dict(self.renewals)
        for request_id, expires_ns in theirs.renewals:
            renewals[request_id] = max(expires_ns, renewals.get(request_id, 0))
        inner = self.inner if theirs.inner is None else theirs.inner
        if self.inner is not None and theirs.inner is not None:
            inner = self.inner.aggregate(theirs.inner)
        return WorkerFacts(
            self.transfers + theirs.transfers,
            self.expired | theirs.expired,
            self.sees_expiry or theirs.sees_expiry,
            tuple(renewals.items()),
            inner,
        )
