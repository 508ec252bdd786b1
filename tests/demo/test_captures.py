"""The committed captures: what `pdscope demo` streams again and again."""

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from analyzer.demo.capture import load

REQUEST_SPANS = {"vllm": {"POST /v1/completions", "POST /v1/chat/completions"}, "dynamo": {"http-request"}}
SERVER = 2


@pytest.mark.parametrize("name", REQUEST_SPANS)
def test_every_recorded_request_is_whole(name: str) -> None:
    """A recording that is cut while requests run would show each of them as incomplete, lap after lap."""
    traces, whole = set(), set()
    for export in load(name).exports:
        for resource in ExportTraceServiceRequest.FromString(export.body).resource_spans:
            for span in (span for scope in resource.scope_spans for span in scope.spans):
                traces.add(span.trace_id)
                if span.name in REQUEST_SPANS[name] and (name == "dynamo" or span.kind == SERVER):
                    whole.add(span.trace_id)
    assert traces == whole
