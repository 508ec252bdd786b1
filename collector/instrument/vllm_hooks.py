"""What is read of vLLM's objects at each connector hook. Knows their attributes, imports none of vLLM.

Everything here runs on the engine's thread: it reads, makes a tuple and returns. Source of the attributes:
vLLM 0.32, `vllm/distributed/kv_transfer/kv_connector/v1`.
"""

import logging
import time
from collections.abc import Callable
from typing import Any

from collector.instrument.kv_events import (
    Allocated,
    Arrived,
    Finished,
    RankTransfer,
    Received,
    Released,
    Renewed,
    Transferred,
    WorkerFacts,
)

log = logging.getLogger("pdscope.kv")
Put = Callable[..., None]
"""Takes an event's kind and its fields, as `SpanWorker.put`."""
ASKED_KEPT = 10_000


class Guard:
    """Keeps what hook code does away from the engine: a hook that fails is switched off, with one line."""

    def __init__(self) -> None:
        self.broken: set[str] = set()

    def run(self, hook: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call, and give None when it fails now or has failed before."""
        if hook in self.broken:
            return None
        try:
            return function(*arguments)
        except Exception as error:
            self.give_up(hook, error)
            return None

    def give_up(self, hook: str, error: Exception) -> None:
        """Switch a hook off and say so once; only the error's kind and the attribute it names are told."""
        self.broken.add(hook)
        attribute = f" (no {error.name!r})" if isinstance(error, AttributeError | NameError) else ""
        log.warning(
            "pdscope: hook %s does not fit this vLLM: %s%s. Its part of the KV spans will be missing; "
            "serving is not affected.",
            hook,
            type(error).__name__,
            attribute,
        )


class SchedulerHooks:
    """The scheduler's side. `lease_s` is the connector's lease, if it has one."""

    def __init__(self, put: Put, engine_id: str, lease_s: float | None) -> None:
        self._put = put
        self._engine_id = engine_id
        self._lease_s = lease_s
        self._tracked: set[str] = set()
        self._expired: set[str] = set()
        self._sees_expiry = False

    def arrived(self, request: Any) -> None:
        """`on_new_request`: only requests that hand KV over are followed."""
        if request.kv_transfer_params:
            self._tracked.add(request.request_id)
            self._put(Arrived, time.time_ns(), request.request_id, request.trace_headers)

    def wants_remote_kv(self, request: Any) -> bool:
        """Before `update_state_after_alloc`, which resets the flag."""
        parameters = request.kv_transfer_params
        return bool(parameters) and bool(parameters.get("do_remote_prefill"))

    def allocated(self, request: Any, external_tokens: int) -> None:
        """After `update_state_after_alloc` of a request that wants remote KV."""
        if request.request_id not in self._tracked or external_tokens <= 0:
            return
        parameters = request.kv_transfer_params
        source = parameters.get("remote_engine_id")
        key = transfer_id(parameters, source, request.request_id)
        self._put(Allocated, time.time_ns(), request.request_id, key, source, external_tokens)

    def finished(self, request: Any, blocks: Any, began_ns: int, result: Any) -> None:
        """After `request_finished` or `request_finished_all_groups`."""
        if request.request_id not in self._tracked:
            return
        self._tracked.discard(request.request_id)
        delayed, told = result
        given, held = request.kv_transfer_params or {}, told or {}
        self._put(
            Finished,
            began_ns,
            time.time_ns(),
            request.request_id,
            request.status.name,
            bool(delayed),
            transfer_id(
                {**given, **held} if given and held else given or held, self._engine_id, request.request_id
            ),
            _count_blocks(blocks) if delayed else 0,
            held.get("remote_num_tokens") or request.num_computed_tokens,
            self._lease_s,
        )

    def told(self, facts: WorkerFacts | None, output: Any) -> None:
        """Before `update_connector_output`: what the ranks saw, and which requests are done."""
        now = time.time_ns()
        if facts is not None:
            self._expired |= facts.expired
            self._sees_expiry |= facts.sees_expiry
            for transferred in facts.transfers:
                self._put(Transferred, *transferred)
            for request_id, expires_ns in facts.renewals:
                self._put(Renewed, now, request_id, expires_ns)
        failed = getattr(output, "failed_recving", None) or ()
        for request_id in output.finished_recving or ():
            self._put(Received, now, request_id, request_id in failed)
        for request_id in output.finished_sending or ():
            expired = request_id in self._expired if self._sees_expiry else None
            self._put(Released, now, request_id, expired)
            self._expired.discard(request_id)


class WorkerHooks:
    """One rank's side; what it notes is taken once a step and travels to the scheduler."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._facts = WorkerFacts()
        self._asked: dict[str, int] = {}
        self._telemetry: dict[str, list[Any]] = {}
        self._leased: set[str] = set()
        self._lease_moved = False
        self._of_handle: dict[Any, str] = {}
        self.sees_expiry = False

    def loading(self, metadata: Any) -> None:
        """Before `start_load_kv`: which requests are asked for, and which are held for others."""
        asked, held = metadata.reqs_to_recv, metadata.reqs_to_send
        if asked:
            now = time.time_ns()
            for request_id in asked:
                self._asked.setdefault(request_id, now)
            while len(self._asked) > ASKED_KEPT:
                self._asked.pop(next(iter(self._asked)))
        if held and self._rank == 0:
            self._leased.update(held)

    def telemetry(self, transfers: Any, handle: Any, told: Any) -> None:
        """After `nixl_wrapper.get_xfer_telemetry`: durations in µs, bytes and descriptors of one handle."""
        request_id = self._of_handle.pop(handle, None)
        if request_id is None:
            self._of_handle = {each: name for name, handles in transfers.items() for each in handles}
            request_id = self._of_handle.pop(handle, None)
        if request_id is not None:
            self._telemetry.setdefault(request_id, []).append(told)

    def reaped(self, before: set[str], after: set[str]) -> None:
        """Around the connector's reaping of expired leases."""
        self._facts.expired |= after - before

    def heartbeat(self) -> None:
        """After a heartbeat, which may have moved deadlines."""
        self._lease_moved = True

    def results(self, done: Any, deadlines: Any) -> None:
        """After `get_transfer_results`; `deadlines` are the connector's leases by request (perf_counter)."""
        if done.finished_recving:
            now = time.time_ns()
            for request_id in done.finished_recving:
                share = self._share(request_id, now, request_id in done.failed_recving)
                self._facts.transfers.append(Transferred(request_id, share))
        if done.finished_sending:
            self._leased -= done.finished_sending
            self._facts.sees_expiry = self.sees_expiry
        if self._lease_moved and deadlines is not None:
            self._lease_moved = False
            offset = time.time_ns() - time.perf_counter_ns()
            moved = [(name, deadlines[name]) for name in self._leased if name in deadlines]
            self._facts.renewals = tuple((name, int(end * 1e9) + offset) for name, end in moved)

    def take(self, inner: Any) -> Any:
        """For `build_connector_worker_meta`: our facts around the inner metadata, or that alone."""
        facts = self._facts
        if not (facts.transfers or facts.expired or facts.renewals or facts.sees_expiry):
            return inner
        facts.inner = inner
        self._facts = WorkerFacts()
        return facts

    def _share(self, request_id: str, now: int, failed: bool) -> RankTransfer:
        told = self._telemetry.pop(request_id, None)
        asked = self._asked.pop(request_id, None)
        if told is None:
            return RankTransfer(self._rank, asked, None, now, None, None, None, failed)
        first, post_us, size, descriptors = None, 0.0, 0, 0
        for each in told:
            start = int(each.startTime) * 1000
            # The transport's clock is only used where it is the wall clock.
            if asked is not None and asked <= start <= now and (first is None or start < first):
                first = start
            post_us += each.postDuration
            size += each.totalBytes
            descriptors += each.descCount
        return RankTransfer(self._rank, asked, first, now, post_us, size, descriptors, failed)


def unwrapped(output: Any) -> WorkerFacts | None:
    """Take our facts out of a connector output and put the inner metadata back; never fails."""
    facts = getattr(output, "kv_connector_worker_meta", None)
    if not isinstance(facts, WorkerFacts):
        return None
    output.kv_connector_worker_meta = facts.inner
    return facts


def transfer_id(parameters: dict[str, Any], engine_id: str | None, request_id: str) -> str:
    """What names a hand-off on both sides: the connector's own id, or the producer's engine and request."""
    if own := parameters.get("transfer_id"):
        return str(own)
    return f"{engine_id}:{parameters.get('remote_request_id') or request_id}"


def _count_blocks(blocks: Any) -> int:
    """Blocks of all groups; one group comes as a bare list."""
    if blocks and isinstance(blocks[0], list | tuple):
        return sum(len(group) for group in blocks)
    return len(blocks)
