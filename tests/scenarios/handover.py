"""KV from prefill to decode: offered under a lease, moved over a path, released, or left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .decode import DecodeWorker
from .life import Attributes, Life, Release, Renewal
from .links import Fabric, Poster
from .loop import Loop
from .prefill import PrefillWorker
from .spec import Mode, Spec, ns

FAILS_AFTER_S = 0.03


@dataclass(frozen=True)
class Sent:
    """One transfer: when it was asked for, when posting began, how long posting took (ns), and its size."""

    asked: int
    posted: int
    posting: int
    tokens: int
    descriptors: int


class Handover:
    """What is published, who holds it, how it travels. `nic`: (start, end, bytes, prefill worker)."""

    def __init__(
        self,
        loop: Loop,
        spec: Spec,
        prefill: list[PrefillWorker],
        decode: list[DecodeWorker],
        fail: Callable[[Life], None],
    ) -> None:
        self.loop, self.spec, self.prefill, self.decode, self.fail = loop, spec, prefill, decode, fail
        self.fabric = Fabric(loop, spec.links)
        pushing = prefill if spec.mode is Mode.PREALLOC else decode
        self.posters = [Poster(loop) for _ in pushing]
        self.nic: list[tuple[int, int, int, int]] = []
        self.expired: list[tuple[int, int]] = []
        self.failed: list[tuple[int, int]] = []

    # held by prefill

    def publish(self, life: Life) -> None:
        """The descriptor is known to the consumer: the lease begins."""
        life.published = self.loop.now
        life.lease_expires = self.loop.now + ns(self.spec.cache.lease_s)
        if self.spec.cache.renewed:
            self.loop.at(life.lease_expires - ns(self.spec.cache.lease_s / 3), self._renew, life)
        else:
            self.loop.at(life.lease_expires, self._expire, life)

    def _renew(self, life: Life) -> None:
        if not life.kv_held or life.lease_expires is None:
            return
        if not life.alive:
            self.loop.at(life.lease_expires, self._expire, life)
            return
        life.lease_expires = self.loop.now + ns(self.spec.cache.lease_s)
        life.renewals.append(
            Renewal(self.loop.now, self._holder(life).name, life.attempt, life.lease_expires)
        )
        self.loop.at(life.lease_expires - ns(self.spec.cache.lease_s / 3), self._renew, life)

    def _expire(self, life: Life) -> None:
        if life.kv_held and life.orphan != "leaked":
            self.expired.append((self.loop.now, life.prefill))
            self.release(life, "expired")

    def _holder(self, life: Life) -> PrefillWorker:
        return self.prefill[life.prefill]

    def release(self, life: Life, reason: str) -> None:
        """Prefill gives published KV back."""
        if life.kv_held:
            life.kv_held = False
            life.releases.append(Release(self.loop.now, self._holder(life).name, life.attempt, reason))
            self._holder(life).release(life.ask.prompt, pinned=True)

    # on the way

    def start(self, life: Life) -> None:
        """Ask for the transfer of a published, allocated request."""
        asked = self.loop.now
        self.loop.at(self.fabric.connected(life.prefill, life.decode), self._post, life, asked)

    def _size(self, life: Life) -> tuple[int, int]:
        tokens = life.ask.prompt - (0 if self.spec.links.resend_held else life.ask.held)
        return tokens, max(1, round(tokens * self.spec.links.descriptors_per_token))

    def _post(self, life: Life, asked: int) -> None:
        if not life.alive:
            return
        tokens, descriptors = self._size(life)
        poster = self.posters[life.prefill if self.spec.mode is Mode.PREALLOC else life.decode]
        posting = ns(descriptors * self.spec.links.descriptor_s)
        start, end = poster.post(posting)
        sent = Sent(asked, start, posting, tokens, descriptors)
        if self._lease_is_over(life):
            self.loop.at(end, self._too_late, life, sent)
        elif life.ask.draws.transfer_failure < self.spec.links.failure_share:
            self.loop.at(end + ns(FAILS_AFTER_S), self._failed, life, sent, "failed")
        else:
            self.loop.at(end, self._flow, life, sent)

    def _flow(self, life: Life, sent: Sent) -> None:
        noise = 1.0 + self.spec.links.noise * (2.0 * life.ask.draws.transfer_noise - 1.0)
        nbytes = sent.tokens * self.spec.cache.bytes_per_token
        path = self.fabric.path(life.prefill, life.decode)
        began = self.loop.now

        def arrived() -> None:
            self.nic.append((began, self.loop.now, nbytes, life.prefill))
            self.loop.at(self.loop.now + ns(self.spec.links.latency_s), self._arrived, life, sent)

        path.send(nbytes * noise, arrived)

    def _lease_is_over(self, life: Life) -> bool:
        return life.lease_expires is not None and self.loop.now >= life.lease_expires

    def _arrived(self, life: Life, sent: Sent) -> None:
        if not life.alive:
            return
        if self._lease_is_over(life) and self.spec.cache.late_read != "read":
            self._too_late(life, sent)
            return
        life.late_read = self._lease_is_over(life)
        self._spent(life, sent, "ok")
        self.release(life, "imported")
        life.visible = self.loop.now
        self.loop.at(self.loop.now + ns(self.spec.decode.import_s), self.decode[life.decode].ready, life)

    def _too_late(self, life: Life, sent: Sent) -> None:
        if not life.alive:
            return
        if self.spec.cache.late_read == "read":
            self._flow(life, sent)
        elif self.spec.cache.late_read == "error":
            self._spent(life, sent, "expired")
            self.fail(life)
        else:
            self._failed(life, sent, "expired")

    def _failed(self, life: Life, sent: Sent, status: str) -> None:
        """The bytes do not come: decode computes the prompt itself."""
        if not life.alive:
            return
        self._spent(life, sent, status)
        self.failed.append((self.loop.now, life.decode))
        self.release(life, "aborted")
        life.failed_load = self.loop.now
        life.local_tokens = life.ask.prompt - life.ask.held
        self.decode[life.decode].compute_prompt(life, life.local_tokens)

    def _spent(self, life: Life, sent: Sent, status: str) -> None:
        by = self.prefill[life.prefill] if self.spec.mode is Mode.PREALLOC else self.decode[life.decode]
        notes: Attributes = {
            "tokens": sent.tokens,
            "bytes": sent.tokens * self.spec.cache.bytes_per_token,
            "descriptors": sent.descriptors,
            "wait_ms": (sent.posted - sent.asked) / 1e6,
            "post_ms": sent.posting / 1e6,
            "status": status,
        }
        if self.spec.links.resend_held and life.ask.held:
            notes["tokens_already_held"] = life.ask.held
        life.spent("kv_transfer", sent.asked, self.loop.now, by.name, **notes)
