"""Spans of one export keep their own process and scope, whatever stands empty between them."""

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.store import Store

START_NS = 1_790_000_000_000_000_000
# Process and its scopes, each with the names of its spans; '' is a resource or a scope that is not there.
EXPORT: list[tuple[str, list[tuple[str, list[str]]]]] = [
    ("", []),
    ("a", [("", []), ("one", ["a1", "a2"]), ("two", []), ("", ["a3"])]),
    ("b", [("three", [])]),
    ("", [("one", ["n1"]), ("two", ["n2"])]),
    ("a", [("two", ["a4"])]),
    ("c", []),
]


def test_each_span_keeps_its_process_and_scope(store: Store) -> None:
    message = ExportTraceServiceRequest()
    for service, scopes in EXPORT:
        of_process = message.resource_spans.add()
        if service:
            of_process.resource.attributes.add(key="service.name").value.string_value = service
        for scope, names in scopes:
            of_scope = of_process.scope_spans.add()
            if scope:
                of_scope.scope.name = scope
            for name in names:
                of_scope.spans.add(
                    trace_id=b"whose-span-it-is", span_id=name.encode().ljust(8, b"."), name=name,
                    start_time_unix_nano=START_NS, end_time_unix_nano=START_NS + 1,
                )  # fmt: skip

    kept = store.insert_traces([message.SerializeToString()])

    found = store.query(
        "SELECT s.name, s.scope, r.service FROM spans AS s"
        " LEFT ANY JOIN resources AS r ON s.resource_id = r.resource_id WHERE s.ingest_sequence = {s:UInt64}",
        {"s": kept.sequence},
    )
    wanted = {(n, scope, service) for service, scopes in EXPORT for scope, names in scopes for n in names}
    assert {tuple(map(str, row)) for row in found} == wanted
    assert len(found) == len(wanted)
