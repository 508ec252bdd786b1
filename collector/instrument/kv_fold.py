"""Folds the hooks' events into the spans of one engine's hand-offs. Plain values in, plain values out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from collector import conventions as names
from collector.instrument.kv import KvHandoff
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
)
from collector.instrument.span_spec import SpanSpec
from collector.phases import Phase

OPEN_KEPT = 20_000
# vLLM's internal id: kind of endpoint, the id it was given, number of the prompt, eight random hex digits
_INTERNAL_ID = re.compile(r"^(?:chatcmpl-|cmpl-|resp_)?(?P<id>.+?)(?:-\d+)?(?:-[0-9a-f]{8})?$")


def outside_id(request_id: str) -> str:
    """The id that came with the request, from the engine's internal one."""
    found = _INTERNAL_ID.match(request_id)
    return found["id"] if found else request_id


@dataclass(slots=True)
class _Request:
    headers: Mapping[str, str] | None = None
    arrived_ns: int | None = None
    allocated: Allocated | None = None
    shares: list[RankTransfer] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Engine:
    """What holds for every hand-off of this engine: its side, sizes and how many ranks take part."""

    engine_id: str
    connector: str
    ranks: int = 1
    block_bytes: int | None = None


class KvFold:
    """State of the hand-offs under way, bounded: beyond 20,000 the oldest is forgotten and counted."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._requests: dict[str, _Request] = {}
        self._leases: dict[str, tuple[Finished, Mapping[str, str] | None, int | None]] = {}
        self.forgotten = 0

    def __len__(self) -> int:
        return len(self._requests) + len(self._leases)

    def apply(self, event: Event) -> list[SpanSpec]:
        """The spans that this event completes."""
        match event:
            case Arrived(at_ns, request_id, headers):
                self._requests[request_id] = _Request(headers, at_ns)
                self._bound(self._requests)
            case Allocated():
                return self._allocated(event)
            case Transferred(request_id, share):
                if (request := self._requests.get(request_id)) is not None:
                    request.shares.append(share)
            case Received():
                return self._received(event)
            case Finished():
                return self._finished(event)
            case Renewed():
                return self._renewed(event)
            case Released():
                return self._released(event)
        return []

    def _allocated(self, event: Allocated) -> list[SpanSpec]:
        request = self._requests.get(event.request_id)
        if request is None or request.allocated is not None:
            return []
        request.allocated = event
        if request.arrived_ns is None:
            return []
        reserved = KvHandoff(event.transfer_id, tokens=event.tokens, source=event.source)
        return [
            self._phase(
                Phase.DECODE_QUEUE, request.arrived_ns, event.at_ns, event.request_id, request, reserved
            )
        ]

    def _received(self, event: Received) -> list[SpanSpec]:
        request = self._requests.get(event.request_id)
        if request is None or request.allocated is None:
            return []
        transfer, landed_ns = self._transfer(request, event.at_ns, event.failed)
        asked = request.allocated
        request.allocated, request.shares = None, []
        if transfer.failed or landed_ns is None:
            return [transfer]
        kv = KvHandoff(
            asked.transfer_id,
            tokens=asked.tokens,
            source=asked.source,
            connector=self._engine.connector,
            status="ok",
        )
        return [transfer, self._phase(Phase.KV_IMPORT, landed_ns, event.at_ns, event.request_id, request, kv)]

    def _transfer(self, request: _Request, at_ns: int, failed: bool) -> tuple[SpanSpec, int | None]:
        """The transfer of all ranks as one span, and when its last byte was there (None: no rank told)."""
        asked, shares = request.allocated, request.shares
        assert asked is not None
        start_ns = min((s.asked_ns for s in shares if s.asked_ns is not None), default=asked.at_ns)
        landed_ns = max((s.done_ns for s in shares), default=None)
        posts = [s.first_post_ns - start_ns for s in shares if s.first_post_ns is not None]
        kv = KvHandoff(
            transfer_id=asked.transfer_id,
            bytes=_total([s.bytes for s in shares]),
            tokens=asked.tokens,
            descriptors=_total([s.descriptors for s in shares]),
            connector=self._engine.connector,
            source=asked.source,
            destination=self._engine.engine_id,
            post_ms=max((s.post_us / 1e3 for s in shares if s.post_us is not None), default=None),
            wait_ms=min(posts) / 1e6 if posts and min(posts) >= 0 else None,
            status=_status(shares, failed),
        )
        end_ns = at_ns if landed_ns is None else landed_ns
        told = len({share.rank for share in shares})
        ranks = {names.RANKS: told, names.RANKS_EXPECTED: self._engine.ranks} if shares else {}
        span = self._phase(Phase.KV_TRANSFER, start_ns, end_ns, asked.request_id, request, kv, ranks)
        return span, landed_ns

    def _finished(self, event: Finished) -> list[SpanSpec]:
        request = self._requests.pop(event.request_id, None)
        if event.published:
            if event.request_id in self._leases:
                return []
            headers = request.headers if request else None
            expires_ns = None if event.lease_s is None else event.at_ns + int(event.lease_s * 1e9)
            self._leases[event.request_id] = (event, headers, expires_ns)
            self._bound(self._leases)
            return [self._publish(event, headers, event.began_ns, expires_ns)]
        if request is None or request.allocated is None:
            return []
        transfer, _ = self._transfer(request, event.at_ns, failed=True)
        reason = names.RELEASED_CANCELLED if event.status == "FINISHED_ABORTED" else names.RELEASED_ABORTED
        released = self._release(
            event.at_ns, request.allocated.transfer_id, event.request_id, request.headers, reason
        )
        return [transfer, released]

    def _renewed(self, event: Renewed) -> list[SpanSpec]:
        lease = self._leases.get(event.request_id)
        if lease is None or event.expires_ns <= (lease[2] or 0):
            return []
        self._leases[event.request_id] = (lease[0], lease[1], event.expires_ns)
        published = lease[0]._replace(at_ns=event.at_ns)
        return [self._publish(published, lease[1], event.at_ns, event.expires_ns)]

    def _released(self, event: Released) -> list[SpanSpec]:
        lease = self._leases.pop(event.request_id, None)
        if lease is None:
            return []
        published, headers, expires_ns = lease
        expired = event.expired
        if expired is None:
            expired = expires_ns is not None and event.at_ns >= expires_ns
        reason = names.RELEASED_EXPIRED if expired else names.RELEASED_IMPORTED
        return [self._release(event.at_ns, published.transfer_id, event.request_id, headers, reason)]

    def _publish(
        self, event: Finished, headers: Mapping[str, str] | None, start_ns: int, expires_ns: int | None
    ) -> SpanSpec:
        per_block = self._engine.block_bytes
        kv = KvHandoff(
            transfer_id=event.transfer_id,
            bytes=None if per_block is None else event.blocks * per_block * self._engine.ranks,
            tokens=event.tokens,
            connector=self._engine.connector,
            source=self._engine.engine_id,
            lease_expires_unix_nano=expires_ns,
            status="ok",
        )
        return self._phase(Phase.KV_PUBLISH, start_ns, event.at_ns, event.request_id, _Request(headers), kv)

    def _phase(
        self,
        phase: Phase,
        start_ns: int,
        end_ns: int,
        request_id: str,
        request: _Request,
        kv: KvHandoff,
        more: Mapping[str, int] | None = None,
    ) -> SpanSpec:
        identity = {names.PHASE: phase.value, names.REQUEST_ID: outside_id(request_id)}
        attributes = {**identity, **kv.attributes(), **(more or {})}
        failed = kv.status in (names.KV_FAILED, names.KV_PARTIAL)
        name = names.phase_span_name(phase.value)
        return SpanSpec(
            name, start_ns, end_ns, attributes, request.headers, kv.transfer_id or request_id, failed
        )

    def _release(
        self, at_ns: int, transfer_id: str, request_id: str, headers: Mapping[str, str] | None, reason: str
    ) -> SpanSpec:
        attributes: dict[str, str | int | float] = {
            names.REQUEST_ID: outside_id(request_id),
            names.KV_TRANSFER_ID: transfer_id,
            names.KV_REASON: reason,
        }
        return SpanSpec(names.KV_RELEASE_SPAN, at_ns, at_ns, attributes, headers, transfer_id)

    def _bound(
        self, held: "dict[str, _Request] | dict[str, tuple[Finished, Mapping[str, str] | None, int | None]]"
    ) -> None:
        if len(held) > OPEN_KEPT:
            held.pop(next(iter(held)))
            self.forgotten += 1


def _total(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _status(shares: list[RankTransfer], failed: bool) -> str:
    if not failed and not any(share.failed for share in shares):
        return names.KV_OK
    arrived = [share for share in shares if not share.failed]
    return names.KV_PARTIAL if arrived and len(arrived) < len(shares) else names.KV_FAILED
