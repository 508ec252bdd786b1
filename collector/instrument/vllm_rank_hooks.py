"""What is noted at a rank's connector hooks, and inside NIXL's connector: `vllm_hooks` for the other side.

A rank exports nothing: what it notes is taken once a step and travels to the scheduler in `WorkerFacts`.
"""

from time import perf_counter_ns, time_ns
from typing import Any

from collector.instrument.kv_events import WorkerFacts
from collector.instrument.vllm_hooks import Guard, Laid

KEPT = 10_000


class RankNotes:
    """What one rank noted since its last step, and when it was asked for what has yet to come."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.asked: dict[str, int] = {}
        self.reads: dict[str, tuple[tuple[Any, ...], ...]] = {}
        self.facts: WorkerFacts | None = None
        self.deadlines: dict[str, float] | None = None
        self.is_lease_moved = False

    def noted(self) -> WorkerFacts:
        """The facts of this step."""
        if (facts := self.facts) is None:
            facts = self.facts = WorkerFacts()
        return facts

    def renewals(self, deadlines: dict[str, float]) -> tuple[tuple[str, int], ...]:
        """Leases by request and when they end, of a connector that keeps them on `perf_counter`."""
        self.is_lease_moved = False
        offset = time_ns() - perf_counter_ns()
        return tuple((name, int(end * 1e9) + offset) for name, end in deadlines.items())


def lay_over_rank(connector: Any, guard: Guard, notes: RankNotes) -> None:
    """The hooks that every connector has."""
    laid = Laid(connector, guard)
    asked, reads, rank = notes.asked, notes.reads, notes.rank

    def loading(original: Any) -> Any:
        def start_load_kv(forward_context: Any, **kwargs: Any) -> Any:
            try:
                if wanted := connector._connector_metadata.reqs_to_recv:
                    now = time_ns()
                    for request_id in wanted:
                        asked.setdefault(request_id, now)
                    while len(asked) > KEPT:
                        del asked[next(iter(asked))]
            except Exception as error:
                laid.take_off("start_load_kv", error)
            return original(forward_context, **kwargs)

        return start_load_kv

    def results(original: Any) -> Any:
        def get_transfer_results(finished_req_ids: Any) -> Any:
            result = original(finished_req_ids)
            try:
                if received := result.finished_recving:
                    now, failed, transfers = time_ns(), result.failed_recving, notes.noted().transfers
                    for name in received:
                        told = reads.pop(name, ())
                        transfers.append((name, rank, asked.pop(name, None), now, told, name in failed))
                if notes.deadlines is not None:
                    if result.finished_sending:
                        notes.noted().sees_expiry = True
                    if notes.is_lease_moved and rank == 0:
                        notes.noted().renewals = notes.renewals(notes.deadlines)
            except Exception as error:
                laid.take_off("get_transfer_results", error)
            return result

        return get_transfer_results

    def metadata(original: Any) -> Any:
        def build_connector_worker_meta() -> Any:
            inner = original()
            if (facts := notes.facts) is None:
                return inner
            facts.inner, notes.facts = inner, None
            return facts

        return build_connector_worker_meta

    laid.lay_known(
        {
            "start_load_kv": loading,
            "get_transfer_results": results,
            "build_connector_worker_meta": metadata,
        }
    )


def watch_reads(guard: Guard, notes: RankNotes, inner: Any) -> None:
    """Lay a hook over NIXL's own account of each finished read, by its handle; raises where there is none."""
    laid = Laid(inner.nixl_wrapper, guard)
    transfers, reads = inner._recving_transfers, notes.reads
    last: Any = None

    def account(original: Any) -> Any:
        def get_xfer_telemetry(handle: Any) -> Any:
            nonlocal last
            told = original(handle)
            try:
                # One request's reads are asked about in a row, oldest requests first.
                if handle not in transfers.get(last, ()):
                    last = None
                    for name, handles in transfers.items():
                        if handle in handles:
                            last = name
                            break
                    if last is None:
                        return told
                read = (told.startTime, told.postDuration, told.totalBytes, told.descCount)
                reads[last] = (*reads[last], read) if last in reads else (read,)
                while len(reads) > KEPT:
                    del reads[next(iter(reads))]
            except Exception as error:
                laid.take_off("get_xfer_telemetry", error)
            return told

        return get_xfer_telemetry

    laid.lay({"get_xfer_telemetry": account})


def watch_leases(guard: Guard, notes: RankNotes, inner: Any) -> None:
    """Lay hooks over NIXL's reaping and renewing of leases; raises where there is none."""
    laid = Laid(inner, guard)

    def reaping(original: Any) -> Any:
        def _reap_expired_send_leases(done_sending: set[str]) -> Any:
            before = tuple(done_sending)
            result = original(done_sending)
            if len(done_sending) != len(before):
                notes.noted().expired |= done_sending.difference(before)
            return result

        return _reap_expired_send_leases

    def renewing(original: Any) -> Any:
        def _handle_heartbeat(*arguments: Any, **named: Any) -> Any:
            notes.is_lease_moved = True
            return original(*arguments, **named)

        return _handle_heartbeat

    deadlines = inner._reqs_to_send
    laid.lay({"_reap_expired_send_leases": reaping, "_handle_heartbeat": renewing})
    notes.deadlines = deadlines
