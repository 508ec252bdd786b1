"""Test only: a collector of its own process that writes batches to a server. usage: URL NAME BATCHES"""

import json
import sys

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.errors import BadBody
from collector.store import Store

START = 1_790_000_000_000_000_000


def export(name: str, batch: int) -> bytes:
    """Ten spans, one of them with a trace id that is too short, and a private attribute."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = name
    spans = resource.scope_spans.add().spans
    for index in range(10):
        span = spans.add(
            trace_id=b"%-10s%06d" % (name.encode(), batch) if index else b"short",
            span_id=b"%08d" % index,
            name="pd.request",
            start_time_unix_nano=START + batch,
            end_time_unix_nano=START + batch + 5,
        )
        span.attributes.add(key="gen_ai.prompt").value.string_value = "a secret"
        span.attributes.add(key="n").value.int_value = index
        span.events.add(name="first_token", time_unix_nano=START + batch + 1)
    return request.SerializeToString()


def main(url: str, name: str, batches: int) -> None:
    store = Store.open(url)
    results = [store.insert_traces([export(name, batch)]) for batch in range(batches)]
    try:
        store.insert_traces([b"\xff\xff\xff\xff"])
        garbage = "stored"
    except BadBody:
        garbage = "refused"
    sequences = [result.sequence for result in results]
    print(json.dumps({"sequences": sequences, "garbage": garbage, "place": str(store.place)}), flush=True)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
