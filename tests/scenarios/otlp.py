"""OTLP messages: what one POST carries, and the small change of attributes and resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

Scalar = str | bool | int | float
SCOPE = "pd-scenarios"


@dataclass(frozen=True)
class Export:
    """One POST: `kind` is traces or metrics, `body` a serialised export request, `items` spans or points."""

    kind: str
    body: bytes
    items: int


def any_value(value: Scalar) -> AnyValue:
    """A scalar as OTLP has it."""
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(string_value=value)


def attributes(values: Mapping[str, Scalar]) -> list[KeyValue]:
    """Attributes in the order given."""
    return [KeyValue(key=key, value=any_value(value)) for key, value in values.items()]
