"""KV between the pools: who holds it, until when, and how it comes over."""

from collections.abc import Callable
from dataclasses import dataclass

from analyzer.demo.scenarios.decode import DecodeWorker, Stream
from analyzer.demo.scenarios.link import Path
from analyzer.demo.scenarios.loop import Loop
from analyzer.demo.scenarios.prefill import PrefillWorker
from analyzer.demo.scenarios.setup import Setup
from analyzer.demo.scenarios.trip import Release, Trip


@dataclass
class _Holding:
    worker: int
    tokens: int
    reading: bool = False


class Handoff:
    """Published KV by request. `fail` is called for a request whose hand-off failed for good."""

    def __init__(
        self,
        loop: Loop,
        prefill: list[PrefillWorker],
        decode: list[DecodeWorker],
        setup: Setup,
        fail: Callable[[Trip], None],
    ) -> None:
        self.loop, self.prefill, self.decode, self.setup, self._fail = loop, prefill, decode, setup, fail
        self.held: dict[int, _Holding] = {}
        self.expired = self.failed = 0
        self._known = {(p.number, d.number): 0 for p in prefill for d in decode}
        self._connected: set[tuple[int, int, int]] = set()
        self.relay()

    def relay(self) -> None:
        """Lay the paths as the setup has them; what is on its way arrives over the old ones."""
        line = self.setup.link.line_gb_s * 1e9
        count = len(self.prefill)
        self._paths = [Path(self.loop, line)] * count if self.setup.link.shared else [
            Path(self.loop, line) for _ in range(count)
        ]  # fmt: skip

    def hold(self, trip: Trip) -> None:
        """Keep a computed prompt's KV on its prefill worker."""
        self.held[trip.number] = _Holding(trip.prefill, trip.prompt)

    def lease(self, trip: Trip, expires: float) -> None:
        """From now on it is kept until `expires`."""
        self.loop.at(expires, self._lease_over, trip)

    def release(self, trip: Trip, reason: str) -> None:
        """Give KV back; nothing where it was given back already."""
        if holding := self.held.pop(trip.number, None):
            worker = self.prefill[holding.worker]
            self.note_release(trip, worker.name, reason)
            worker.give_back(holding.tokens)

    def note_release(self, trip: Trip, worker: str, reason: str) -> None:
        """Write down that KV was given back."""
        trip.releases.append(Release(self.loop.now, worker, trip.attempt, reason))

    def _lease_over(self, trip: Trip) -> None:
        holding, cache = self.held.get(trip.number), self.setup.cache
        if holding is None:
            return
        if trip.alive and cache.renewed:
            expires = self.loop.now + cache.lease_s
            trip.renewals.append((self.loop.now, self.prefill[holding.worker].name, trip.attempt, expires))
            self.lease(trip, expires)
        elif not cache.leaks:
            trip.expired = True
            self.expired += 1
            self.release(trip, "expired")

    def start(self, trip: Trip, stream: Stream) -> None:
        """Bring the KV of a request over to the room that was made for it."""
        link, now = self.setup.link, self.loop.now
        if trip.expired:
            self._done_without(trip, stream)
            return
        self.held[trip.number].reading = True
        if self._refused(trip):
            self.failed += 1
            self.loop.after(link.failure_s, self._failed, trip, stream, now)
            return
        pair = (trip.prefill, trip.decode, self.decode[trip.decode].generation)
        first = 0.0 if pair in self._connected else link.connect_s
        self._connected.add(pair)
        tokens = trip.prompt if link.resends_held else trip.prompt - trip.held
        post = tokens * link.descriptors_per_token * link.descriptor_s
        values = {
            "tokens": tokens,
            "bytes": tokens * self.setup.cache.bytes_per_token,
            "already_held": trip.held if link.resends_held else 0,
            "descriptors": round(tokens * link.descriptors_per_token),
            "post_ms": post * 1e3,
        }
        self.loop.after(first + post + link.latency_s, self._send, trip, stream, now, values)

    def _refused(self, trip: Trip) -> bool:
        """Whether this hand-off cannot work: it fails now and then, a peer was replaced, layouts differ."""
        link, decode, pair = self.setup.link, self.decode[trip.decode], (trip.prefill, trip.decode)
        if self._known[pair] != decode.generation and not (link.stale_peers and trip.prefill == 0):
            self._known[pair] = decode.generation
        stale = self._known[pair] != decode.generation
        return stale or decode.layout != "HND" or trip.luck[1] < link.failure_share

    def _send(self, trip: Trip, stream: Stream, since: float, values: dict[str, int | float]) -> None:
        cap = self.setup.link.flow_gb_s * 1e9
        path = self._paths[trip.prefill]
        path.send(values["bytes"], cap, lambda: self._arrived(trip, stream, since, values))

    def _arrived(self, trip: Trip, stream: Stream, since: float, values: dict[str, int | float]) -> None:
        status = "expired" if trip.expired else "ok"
        name = self.decode[trip.decode].name
        trip.spent("kv_transfer", name, since, self.loop.now, None, status=status, **values)
        self.prefill[trip.prefill].sent_bytes += values["bytes"]
        self.release(trip, "imported")
        if trip.expired:
            self._done_without(trip, stream)
        elif trip.alive:
            self.loop.after(self.setup.decode.import_s, self._imported, trip, stream, self.loop.now)

    def _imported(self, trip: Trip, stream: Stream, since: float) -> None:
        if trip.alive:
            trip.spent("kv_import", self.decode[trip.decode].name, since, self.loop.now)
            self.decode[trip.decode].join(stream)

    def _failed(self, trip: Trip, stream: Stream, since: float) -> None:
        name = self.decode[trip.decode].name
        trip.spent("kv_transfer", name, since, self.loop.now, tokens=0, status="failed")
        self.release(trip, "aborted")
        self._done_without(trip, stream)

    def _done_without(self, trip: Trip, stream: Stream) -> None:
        """Without its KV a request is computed again on decode, or fails."""
        if not trip.alive:
            return
        if self.setup.link.on_failure == "recompute":
            self.decode[trip.decode].compute(stream, trip.prompt)
        else:
            self._fail(trip)
