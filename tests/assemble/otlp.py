"""Spans as OTLP bodies, and assembled rows in the oracle's units."""

from collections.abc import Iterable

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from analyzer.assemble.assembler import DEFAULT_ROLES
from analyzer.assemble.oracle import assemble, worker_lives
from analyzer.assemble.oracle_spans import Span
from collector.engines import ADAPTERS
from collector.store import Store

ROLES = [(pattern, role, False) for pattern, role in DEFAULT_ROLES]

ROWS = """
SELECT * REPLACE (
    toUnixTimestamp64Nano(started_at) AS started_at,
    toUnixTimestamp64Nano(ended_at) AS ended_at,
    toUnixTimestamp64Nano(first_token_at) AS first_token_at,
    toUnixTimestamp64Nano(last_token_at) AS last_token_at)
FROM requests FINAL WHERE tombstone = 0
"""

OF_ARRIVAL = ("version", "tombstone", "finalized", "late_spans", "ingested_at", "first_bucket")
"""Columns that depend on when spans came, not on what they say."""

TABLES = (
    "spans",
    "resources",
    "requests",
    "identity",
    "span_facts",
    "span_owners",
    "assembly_progress",
    "decided_traces",
    "analyzers",
    "clock_offsets",
    "worker_life",
    "batch_traces",
    "batch_requests",
    "batch_spans",
    "batch_attempts",
)


def clear(store: Store) -> None:
    for table in TABLES:
        store.command(f"TRUNCATE TABLE {table}")


def body(spans: Iterable[Span]) -> bytes:
    """One export with these spans, all attribute values as text."""
    message = ExportTraceServiceRequest()
    for span in spans:
        of_process = message.resource_spans.add()
        _fill(of_process.resource.attributes, span.process.attributes)
        of_scope = of_process.scope_spans.add()
        of_scope.scope.name = span.scope
        out = of_scope.spans.add(
            trace_id=span.trace_id,
            span_id=span.span_id,
            parent_span_id=span.parent_id,
            name=span.name,
            kind=span.kind,
            start_time_unix_nano=span.start_ns,
            end_time_unix_nano=span.end_ns,
        )
        out.status.code = span.status
        _fill(out.attributes, span.attributes.items())
        for name, ns in span.events:
            said = {key.split(":")[2]: value for key, value in span.told.items() if key.split(":")[1] == name}
            _fill(out.events.add(name=name, time_unix_nano=ns).attributes, said.items())
    return message.SerializeToString()


def _fill(attributes, pairs: Iterable[tuple[str, str]]) -> None:
    for name, value in pairs:
        pair = KeyValue(key=name)
        pair.value.string_value = value
        attributes.append(pair)


def rows(store: Store) -> dict[bytes, dict[str, object]]:
    """What was assembled, by request key, without what depends on arrival."""
    found = {}
    for row in store.rows(ROWS):
        key = bytes(row.pop("request_key"))
        found[key] = {name: _plain(value) for name, value in row.items() if name not in OF_ARRIVAL}
    return found


def expected(requests: Iterable[list[Span]]) -> list[dict[str, object] | None]:
    """The oracle's row of each request, knowing of all of them which workers lived on."""
    requests = list(requests)
    first = [assemble(spans, ADAPTERS, ROLES) for spans in requests]
    lives = worker_lives(row for row in first if row)
    found = [assemble(spans, ADAPTERS, ROLES, lives) for spans in requests]
    return [row and {name: _plain(value) for name, value in row.items()} for row in found]


def _plain(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return tuple(_plain(item) for item in value)
    if isinstance(value, dict):
        return tuple(_plain(item) for item in value.values())
    return str(value) if isinstance(value, str) else value


def differences(got: dict[str, object] | None, want: dict[str, object] | None) -> dict[str, object]:
    """Column → (assembled, oracle) where they differ; intervals in any order."""
    if got is None or want is None:
        return {} if got is want else {"row": (got, want)}
    found = {}
    for column in want.keys() | got.keys():
        mine, theirs = got.get(column), want.get(column)
        if column == "intervals":
            mine, theirs = sorted(mine, key=repr), sorted(theirs, key=repr)
        if mine != theirs:
            found[column] = (mine, theirs)
    return found
