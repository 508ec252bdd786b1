"""What the hooks' notes mean, read off the engine's thread: raw objects of vLLM's in, events out.

A note is a list of `WIDTH` fields, its kind first; the layout of each kind stands beside its name. Source of
the objects: vLLM 0.32, `vllm/distributed/kv_transfer/kv_connector/v1`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from collector.instrument.kv_events import (
    Allocated,
    Arrived,
    Event,
    Finished,
    RankTransfer,
    Received,
    Released,
    Renewed,
    Transferred,
    WorkerFacts,
)

ARRIVED = "arrived"
"""at_ns, request_id, trace headers"""
ALLOCATED = "allocated"
"""at_ns, request_id, `kv_transfer_params`, tokens to be fetched"""
FINISHED = "finished"
"""at_ns, request_id, began_ns, status, `kv_transfer_params`, the connector's answer, blocks held, tokens"""
TOLD = "told"
"""at_ns, the ranks' facts, requests whose KV is here, those that failed, requests whose KV was let go"""


class NoteReader:
    """Reads the notes of one scheduler; `lease_s` is its connector's lease, if it has one."""

    def __init__(self, engine_id: str, lease_s: float | None) -> None:
        self._engine_id = engine_id
        self._lease_s = lease_s
        self._expired: set[str] = set()
        self._sees_expiry = False

    def events(self, note: list[Any]) -> Iterator[Event]:
        """The events that a note tells of, in order; raises what reading objects of another shape raises."""
        kind, at_ns, *fields = note
        if kind == ARRIVED:
            request_id, headers = fields[:2]
            yield Arrived(at_ns, request_id, headers)
        elif kind == ALLOCATED:
            request_id, parameters, tokens = fields[:3]
            source = parameters.get("remote_engine_id")
            yield Allocated(at_ns, request_id, transfer_id(parameters, source, request_id), source, tokens)
        elif kind == FINISHED:
            yield self._finished(at_ns, *fields)
        else:
            yield from self._told(at_ns, *fields[:4])

    def _finished(
        self,
        at_ns: int,
        request_id: str,
        began_ns: int,
        status: Any,
        given: Mapping[str, Any],
        result: tuple[bool, Mapping[str, Any] | None],
        blocks: int,
        tokens: int | None,
    ) -> Finished:
        delayed, held = result[0], result[1] or {}
        return Finished(
            began_ns,
            at_ns,
            request_id,
            status.name,
            bool(delayed),
            transfer_id({**given, **held} if held else given, self._engine_id, request_id),
            blocks,
            held.get("remote_num_tokens") or tokens,
            self._lease_s,
        )

    def _told(
        self,
        at_ns: int,
        facts: WorkerFacts | None,
        received: Iterable[str],
        failed: Iterable[str],
        released: Iterable[str],
    ) -> Iterator[Event]:
        if facts is not None:
            self._expired |= facts.expired
            self._sees_expiry |= facts.sees_expiry
            for request_id, rank, asked_ns, done_ns, handles, is_failed in facts.transfers:
                yield Transferred(request_id, share(rank, asked_ns, done_ns, handles, is_failed))
            for request_id, expires_ns in facts.renewals:
                yield Renewed(at_ns, request_id, expires_ns)
        for request_id in received:
            yield Received(at_ns, request_id, request_id in failed)
        for request_id in released:
            expired = request_id in self._expired if self._sees_expiry else None
            self._expired.discard(request_id)
            yield Released(at_ns, request_id, expired)


def share(
    rank: int, asked_ns: int | None, done_ns: int, handles: tuple[tuple[Any, ...], ...], failed: bool
) -> RankTransfer:
    """One rank's share; `handles` hold start (µs), posting time (µs), bytes and descriptors of each read."""
    if not handles:
        return RankTransfer(rank, asked_ns, None, done_ns, None, None, None, failed)
    starts, posts, sizes, descriptors = zip(*handles, strict=True)
    # The transport's clock is only used where it is the wall clock.
    known = [int(start) * 1000 for start in starts if asked_ns is not None]
    first = min((start for start in known if (asked_ns or 0) <= start <= done_ns), default=None)
    return RankTransfer(
        rank, asked_ns, first, done_ns, float(sum(posts)), sum(sizes), sum(descriptors), failed
    )


def transfer_id(parameters: Mapping[str, Any], engine_id: str | None, request_id: str) -> str:
    """What names a hand-off on both sides: the connector's own id, or the producer's engine and request."""
    if own := parameters.get("transfer_id"):
        return str(own)
    return f"{engine_id}:{parameters.get('remote_request_id') or request_id}"
