"""Orphans over REST: named one by one, and soon: within 10 s of the end of their lease."""

import time
from types import SimpleNamespace

from analyzer.api.fleet import ORPHANS_FRESH_S
from analyzer.assemble.assembler import LATE_AFTER_S, MAX_PAUSE_S, Assembler
from analyzer.assemble.review_time import REVIEW_EVERY_S
from analyzer.verdict import desk
from collector.store import Store
from tests.assemble.otlp import clear
from tests.engines.emitter import T0, Emitter

SOON_S = 10.0
LEASE_MS = 15_000
WINDOW = {"from": str(T0 // 10**9 - 10), "to": str(T0 // 10**9 + 600)}


def strand(store: Store, number: int) -> None:
    """A request whose KV was published, and given back unread when its lease had ended."""
    out, at = Emitter(), 1000.0 * number
    asked = {"pd.request.id": f"r-{number}", "pd.outcome": "error"}
    request = out.span("router", "pd.request", at, at + 400, asked)
    kv = {"pd.kv.transfer_id": f"t-{number}", "pd.pool": "prefill"}
    lease = T0 + round((at + 50 + LEASE_MS) * 1e6)
    told = {**kv, "pd.kv.bytes": 4096, "pd.kv.lease_expires_unix_nano": lease}
    out.span("prefill", "pd.kv_publish", at + 20, at + 50, told, parent=request, instance="p:0")
    freed, told = at + 50 + LEASE_MS, {**kv, "pd.kv.reason": "expired"}
    out.span("prefill", "pd.kv_release", freed, freed, told, parent=request, instance="p:0")
    store.insert_traces([out.body()])


def test_nothing_on_the_way_waits_so_long_that_an_orphan_is_named_later_than_promised():
    """Each wait of the way, added: for a late read, before a step or a review, of an answer."""
    assert LATE_AFTER_S + max(MAX_PAUSE_S, REVIEW_EVERY_S) + ORPHANS_FRESH_S < SOON_S


def test_an_orphan_says_who_held_how_much_for_how_long_and_the_next_is_named_with_it(
    client, store, monkeypatch
):
    clear(store)
    assembler = Assembler(store)

    def named() -> list[dict]:
        assembler.catch_up()
        answer = client.get("/api/v1/kv/orphans", params=WINDOW).json()
        assert answer["orphans_total"] == len(answer["orphans"])
        return sorted(answer["orphans"], key=lambda orphan: orphan["transfer_id"])

    strand(store, 1)
    (orphan,) = named()
    assert (orphan["worker"], orphan["side"], orphan["bytes"], orphan["held_s"], orphan["lease_s"]) == (
        "p:0", "prefill", 4096, LEASE_MS / 1000, LEASE_MS / 1000,
    )  # fmt: skip

    strand(store, 2)
    now = {"time": time.time, "time_ns": time.time_ns}
    later = SimpleNamespace(**now, monotonic=lambda: time.monotonic() + ORPHANS_FRESH_S)
    monkeypatch.setattr(desk, "time", later)

    assert [orphan["transfer_id"] for orphan in named()] == ["t-1", "t-2"]
    clear(store)
