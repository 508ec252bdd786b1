"""Builds rows of the `requests` table for tests of what reads it."""

import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from collector.phases import DECODE_PARTS, TTFT_PARTS, Phase
from collector.store.store import Store

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NOT_SEEN_NS = -(1 << 63)
NOON_NS = int(NOON.timestamp()) * 10**9
_numbers = itertools.count(1)


def key_of(name: str) -> bytes:
    """Return 16 bytes that stand for a name."""
    return hashlib.md5(name.encode(), usedforsecurity=False).digest()


def a_request(at: float = 0.0, **given: Any) -> dict[str, Any]:
    """One answered request that started `at` seconds after NOON.

    `ttft`, `tpot`, `e2e` in seconds; `exposed` and `own` by phase (the rest of TTFT is unattributed).
    """
    name = given.pop("name", f"request-{next(_numbers)}")
    ttft, tpot, e2e = given.pop("ttft", 0.5), given.pop("tpot", 0.01), given.pop("e2e", 1.0)
    exposed, own = given.pop("exposed", {}), given.pop("own", {})
    started = NOON_NS + round(at * 1e9)
    ttft_ns = None if ttft is None else round(ttft * 1e9)
    row: dict[str, Any] = {
        "request_key": key_of(name),
        "first_bucket": (NOON + timedelta(seconds=at)).replace(second=0, microsecond=0),
        "version": 1,
        "tombstone": 0,
        "request_id": name,
        "client_request_id": "",
        "trace_id": key_of("trace " + name),
        "system": "pd",
        "model": "llama",
        "tenant": "",
        "route": "",
        "cohort": "",
        "prefill_worker": "prefill-0",
        "decode_worker": "decode-0",
        "started_at": started,
        "ended_at": None if e2e is None else started + round(e2e * 1e9),
        "outcome": "ok",
        "finish_reason": "stop",
        "http_status": 200,
        "complete": 1,
        "censored": 0,
        "attempts": 1,
        "input_tokens": 800,
        "output_tokens": 64,
        "cached_tokens": 0,
        "conversation_id": "",
        "local_prompt_tokens": None,
        "local_prompt_reason": "",
        "first_token_at": None if ttft_ns is None else started + ttft_ns,
        "ttft_ns": ttft_ns,
        "ttft_source": "" if ttft_ns is None else "router_first_token",
        "ttft_uncertainty_ns": None if ttft_ns is None else 0,
        "tpot_ns": None if tpot is None else tpot * 1e9,
        "e2e_ns": None if e2e is None else round(e2e * 1e9),
        "exposed_ns": _exposed(ttft_ns, exposed),
        "exposed_decode_ns": [0] * len(DECODE_PARTS),
        "phase_ns": [round(own.get(phase, 0) * 1e9) for phase in Phase],
        "phase_from_ns": [0 if phase in own else NOT_SEEN_NS for phase in Phase],
        "phase_until_ns": [round(own[phase] * 1e9) if phase in own else NOT_SEEN_NS for phase in Phase],
        "composites": [],
        "intervals": [],
        "spans": 5,
        "duplicate_spans": 0,
        "late_spans": 0,
        "joined_by": ["trace_id"],
        "notes": [],
    }
    unknown = set(given) - set(row)
    assert not unknown, unknown
    return row | given


def _exposed(ttft_ns: int | None, exposed: dict[str, float]) -> list[int]:
    if ttft_ns is None:
        return []
    parts = {part: round(exposed.get(part, 0) * 1e9) for part in TTFT_PARTS}
    parts["unattributed"] += ttft_ns - sum(parts.values())
    assert parts["unattributed"] >= 0
    return list(parts.values())


def insert(store: Store, rows: Iterable[dict[str, Any]] | dict[str, Any]) -> None:
    """Insert rows as assembly would."""
    found: Sequence[dict[str, Any]] = [rows] if isinstance(rows, dict) else list(rows)
    if found:
        columns = list(found[0])
        store.insert("requests", [[row[column] for column in columns] for row in found], columns)


def a_hand_off(row: dict[str, Any], number: int = 1, **given: Any) -> dict[str, Any]:
    """A hand-off of a request's KV that moved 1,000 bytes."""
    found: dict[str, Any] = {
        "request_key": row["request_key"],
        "first_bucket": row["first_bucket"],
        "transfer_id": f"{row['request_id']}-{number}",
        "version": 1,
        "producer": row["prefill_worker"],
        "consumer": row["decode_worker"],
        "at_ns": row["started_at"],
        "moved_ns": row["started_at"] + 1,
        "imported_ns": 0,
        "status": "ok",
        "transport": "rdma",
        "bytes": 1000.0,
    }
    assert not set(given) - set(found), given
    return found | given


def insert_hand_offs(store: Store, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows of `transfers` as assembly would."""
    if rows:
        columns = list(rows[0])
        store.insert("transfers", [[row[column] for column in columns] for row in rows], columns)


def workers_say(store: Store, gpus: Mapping[str, float]) -> None:
    """Insert what processes say of their accelerators."""
    columns = ["resource_id", "service", "instance", "pool", "attrs"]
    rows = [
        [number, "vllm", worker, "", {"pd.gpus": str(count)}]
        for number, (worker, count) in enumerate(gpus.items(), start=1)
    ]
    store.insert("resources", rows, columns)


def clear(store: Store) -> None:
    """Empty what tests write."""
    counted = ("request_causes_kept", "objective_minutes_kept", "cause_minutes", "findings_kept")
    read = ("identity", "span_facts", "span_owners", "assembly_progress")
    written = ("requests", "transfers", "resources", "ingest_log", "spans", "rollup_progress")
    for table in (*written, *read, *counted):
        store.command(f"TRUNCATE TABLE {table}")
