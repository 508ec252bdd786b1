"""What an attribute is typed as does not hang on what else comes in the insert, or in the span."""

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue

from collector.store import Store

START_NS = 1_790_000_000_000_000_000
TEXT = AnyValue(string_value="text")
LONG = "é" * 5000
SPANS: dict[str, tuple[list[tuple[str, AnyValue]], dict[str, str]]] = {
    "bare": ([], {}),
    "plain": (
        [
            ("text", TEXT),
            ("empty", AnyValue(string_value="")),
            ("whole", AnyValue(int_value=-(2**63))),
            ("real", AnyValue(double_value=0.25)),
            ("yes", AnyValue(bool_value=True)),
            ("no", AnyValue(bool_value=False)),
            ("unset", AnyValue()),
        ],
        {
            "text": "text", "empty": "", "whole": str(-(2**63)), "real": "0.25",
            "yes": "true", "no": "false", "unset": "",
        },
    ),
    "nested": (
        [
            ("text", TEXT),
            ("list", AnyValue(array_value=ArrayValue(values=[TEXT]))),
            ("no", AnyValue(bool_value=False)),
        ],
        {"text": "text", "list": "otlp:array:CgYKBHRleHQ=", "no": "false"},
    ),
    "bytes": ([("raw", AnyValue(bytes_value=b"\0\xff"))], {"raw": "otlp:bytes:AP8="}),
    "private": (
        [("gen_ai.prompt.0.content", TEXT), ("user.id", AnyValue(int_value=7)), ("user_tier", TEXT)],
        {"user_tier": "text"},
    ),
    "long": ([("long", AnyValue(string_value=LONG)), ("text", TEXT)], {"long": LONG[:4096], "text": "text"}),
    "many": (
        [(f"k{number}", AnyValue(int_value=number)) for number in range(140)],
        {f"k{number}": str(number) for number in range(128)},
    ),
}  # fmt: skip


def export(*names: str) -> bytes:
    """These spans, each with an event of its first 32 attributes."""
    message = ExportTraceServiceRequest()
    spans = message.resource_spans.add().scope_spans.add().spans
    for name in names:
        attributes = [KeyValue(key=key, value=value) for key, value in SPANS[name][0]]
        span = spans.add(
            trace_id=b"what-is-typed-as", span_id=name.encode().ljust(8, b"."), name=name,
            start_time_unix_nano=START_NS, end_time_unix_nano=START_NS + 1, attributes=attributes,
        )  # fmt: skip
        span.events.add(name="same", time_unix_nano=START_NS, attributes=attributes[:32])
    return message.SerializeToString()


def kept(store: Store, *bodies: bytes) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """Attributes of each span, and of its event, of one insert."""
    result = store.insert_traces(bodies)
    asked = "SELECT name, attrs, events.attrs[1] FROM spans WHERE ingest_sequence = {s:UInt64}"
    return {name: (span, event) for name, span, event in store.query(asked, {"s": result.sequence})}


def wanted(name: str) -> tuple[dict[str, str], dict[str, str]]:
    of_event = {key for key, _ in SPANS[name][0][:32]}
    return SPANS[name][1], {key: value for key, value in SPANS[name][1].items() if key in of_event}


@pytest.mark.parametrize("name", SPANS)
def test_alone(store: Store, name: str) -> None:
    assert kept(store, export(name)) == {name: wanted(name)}


def test_beside_all_the_others_of_its_export(store: Store) -> None:
    assert kept(store, export(*SPANS)) == {name: wanted(name) for name in SPANS}


def test_beside_exports_of_others_in_one_insert(store: Store) -> None:
    assert kept(store, *map(export, SPANS)) == {name: wanted(name) for name in SPANS}
