"""Every hand-off whose KV nobody read or that was read late, with how it stands and why that is so."""

from dataclasses import dataclass

import numpy as np

from analyzer.kv_ledger import State
from analyzer.verdict.late_reads import presumed_late
from analyzer.verdict.load import Columns
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Outcome
from collector.sql import read_sql

MOST = 1000
_ENDED = {
    Outcome.CANCELLED: "its client left",
    Outcome.TIMEOUT: "its request ran into a timeout",
    Outcome.ERROR: "its request failed",
    Outcome.INTERRUPTED: "its request broke off",
    Outcome.INVALID: "its request was refused as invalid",
    Outcome.REJECTED: "its request was refused by overload",
}


@dataclass(frozen=True)
class Orphan:
    """One hand-off on one side; seconds."""

    transfer_id: str | None
    request_key: str
    worker: str | None
    side: str
    bytes: float | None
    held_s: float | None
    lease_s: float | None
    state: str
    why: str


@dataclass(frozen=True)
class Orphans:
    """At most MOST of each, longest held first, with how many there are in all."""

    orphans: list[Orphan]
    late_reads: list[Orphan]
    orphans_total: int
    late_reads_total: int
    limit_s: float


def orphans(store: Columns, s: Situation) -> Orphans:
    """List the window's orphans and late reads."""
    book, t = s.ledger, s.transfers
    inside = s.requests.inside[t.request] if len(t) else np.zeros(0, bool)
    rows = np.flatnonzero(book.orphan & inside[book.transfer])
    rows = rows[np.argsort(-(book.until - book.since)[rows], kind="stable")]
    late = np.flatnonzero(book.late_read & inside)
    presumed = [] if len(late) else _presumed_late(s)
    names = _ids(store, s, np.concatenate([book.transfer[rows[:MOST]], late[:MOST]]).astype(np.intp))
    return Orphans(
        [_orphan(s, int(row), names) for row in rows[:MOST]],
        [_late(s, int(row), names) for row in late[:MOST]] + presumed[:MOST],
        len(rows),
        len(late) + len(presumed),
        round(book.limit, 3),
    )


def _orphan(s: Situation, row: int, names: dict[int, str]) -> Orphan:
    book, t = s.ledger, s.transfers
    transfer, state = int(book.transfer[row]), State(int(book.state[row]))
    on_decode = bool(book.on_decode[row])
    held = float(book.until[row] - book.since[row])
    if on_decode:
        shown = "never_filled"
    elif state is State.HELD:
        shown = "held"
    else:
        shown = "released_late" if book.past_lease[row] else "expired"
    return Orphan(
        names.get(int(t.transfer_id[transfer])),
        key_text(s, int(t.request[transfer])),
        s.name(int(book.worker[row])) or None,
        "decode" if on_decode else "prefill",
        _known(book.bytes[row]),
        held,
        _known(book.lease[row]),
        shown,
        _why(s, state, on_decode, int(t.request[transfer])),
    )


def _late(s: Situation, row: int, names: dict[int, str]) -> Orphan:
    t = s.transfers
    read = float(np.fmax(t.imported[row], t.moved[row]))
    deadline = t.expired[row] if np.isfinite(t.expired[row]) else t.lease_end[row]
    return Orphan(
        names.get(int(t.transfer_id[row])),
        key_text(s, int(t.request[row])),
        s.name(int(t.producer[row])) or None,
        "prefill",
        _known(t.bytes[row]),
        _known(read - t.published[row]),
        _known(t.lease_end[row] - t.published[row]),
        "expired",
        f"read {read - float(deadline):.2f} s after its lease had ended: the answer may be wrong",
    )


def _presumed_late(s: Situation) -> list[Orphan]:
    """Late reads that prefill counts and no span tells, by the serving system's usual lease."""
    found = presumed_late(s)
    return [
        Orphan(
            None,
            key_text(s, row),
            s.name(int(s.requests.prefill_worker[row])) or None,
            "prefill",
            None,
            _known(held),
            lease,
            "expired",
            f"taken up to {held:.1f} s after its prompt was computed, and prefill counts leases that ended; "
            f"the lease of {lease:g} s is the usual one, no span tells it: the answer may be wrong",
        )
        for row, held, lease in zip(found.request.tolist(), found.held, found.lease.tolist(), strict=True)
    ]


def _why(s: Situation, state: State, on_decode: bool, request: int) -> str:
    ended = _ENDED.get(Outcome(int(s.requests.outcome[request])), "no import was seen")
    how = {
        State.EXPIRED: "its lease ended unread",
        State.ABORTED: "it was aborted unread",
        State.HELD: "it is still held, past every fair wait",
        State.NEVER_FILLED: "room was set aside and no KV came",
    }[state]
    return f"{how}; {ended}"


def _known(value: float) -> float | None:
    return round(float(value), 6) if np.isfinite(value) else None


def key_text(s: Situation, row: int) -> str:
    """request_key as 32 hex digits."""
    halves = s.requests.key[row].astype("<u8")
    return bytes(halves.tobytes()).hex()


def _ids(store: Columns, s: Situation, rows: np.ndarray) -> dict[int, str]:
    """Names of the hand-offs, by hash."""
    wanted = np.unique(s.transfers.transfer_id[rows]).tolist() if len(rows) else []
    if not wanted:
        return {}
    found = store.columns(
        read_sql(__file__, "sql/transfer_ids"),
        {"from_ns": s.loaded.origin_ns - 900 * 10**9, "to_ns": s.loaded.scope.to_ns, "wanted": wanted},
    )
    return {
        int(code): str(name)
        for code, name in zip(found.get("code", ()), found.get("name", ()), strict=True)
        if name
    }
