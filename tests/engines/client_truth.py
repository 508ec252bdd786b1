"""What the clients of a capture saw, read off its client.jsonl files: one record a request that was sent."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """One request as its client saw it; names are empty where the client had none."""

    sent_ns: int
    trace_id: str
    client_id: str
    response_id: str
    outcome: str
    ended_ns: int = 0

    def may_be(self, row: Row) -> bool:
        """Whether an assembled request has the names this one's client knew; a client's own id may repeat."""
        if self.response_id:
            return row["request_id"] == self.response_id
        if self.trace_id:
            return row["trace_id"].hex() == self.trace_id
        return not self.client_id or row["client_request_id"] == self.client_id

    def distance(self, row: Row) -> int:
        """How far apart (ns) it and a request of its name lie, at both ends where both are known."""
        ends = abs(row["ended_at"] - self.ended_ns) if self.ended_ns and row["ended_at"] else 0
        return abs(row["started_at"] - self.sent_ns) + ends

    @property
    def names(self) -> int:
        """How well it is named: those that are named best are looked for first."""
        return 2 * bool(self.response_id or self.trace_id) + bool(self.client_id)


def pair(clients: list[Seen], rows: list[Row]) -> list[tuple[Seen, Row]]:
    """Each client's request with its row: by name, among several the one that lies where it does in time."""
    left = {id(row): row for row in rows}
    pairs = []
    for client in sorted(clients, key=lambda client: (-client.names, client.sent_ns)):
        fitting = [row for row in left.values() if client.may_be(row)]
        nearest = min(fitting, key=client.distance, default=None)
        near = nearest is not None and abs(nearest["started_at"] - client.sent_ns) < 2 * 10**9
        if nearest is not None and (near or client.names):
            pairs.append((client, left.pop(id(nearest))))
    return pairs


def seen(capture: Path) -> list[Seen]:
    """Every request in the client*.jsonl.gz files of a capture."""
    found = []
    for path in sorted(capture.glob("client*.jsonl.gz")):
        with gzip.open(path, "rt") as lines:
            found += [_one(json.loads(line)) for line in lines]
    return found


def _one(record: dict[str, Any]) -> Seen:
    headers = {name.lower(): value for name, value in _headers(record).items()}
    traceparent = str(record.get("traceparent") or "")
    return Seen(
        int(record.get("send_ns") or round(record["t0"] * 1e9)),
        str(record.get("trace_id") or [*traceparent.split("-"), "", ""][1]),
        str(record.get("req_id") or record.get("x_request_id") or headers.get("x-request-id") or ""),
        str(record.get("response_id") or "").removeprefix("chatcmpl-"),
        _outcome(record),
        int(record.get("end_ns") or 0),
    )


def _headers(record: dict[str, Any]) -> dict[str, str]:
    return record.get("resp_headers") or record.get("headers") or {}


def _outcome(record: dict[str, Any]) -> str:
    """In the words of the requests table."""
    status = record.get("http_status") or record.get("status")
    if isinstance(status, int) and status >= 400:
        return {503: "rejected", 429: "rejected", 404: "invalid"}.get(status, "error")
    if record.get("status") == "aborted" or record.get("cancelled_by_client_ns"):
        return "cancelled"
    if record.get("body") == "<cancelled>" or record.get("exc"):
        return "cancelled"
    if record.get("stream_errors"):
        return "interrupted" if record.get("first_token_ns") else "error"
    if record.get("label") == "cancel_before_first_token":
        return "cancelled"
    return "ok"
