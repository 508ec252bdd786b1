"""What routers tell of a request's way: the route receipt, its wait for admission, its deadline."""

import base64
import json
from collections.abc import Mapping
from contextlib import suppress

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue

from analyzer.api.models import RoutingModel
from analyzer.api.times import rfc3339
from analyzer.slo.scope import MAX_NS

_ARRAY = "otlp:array:"


def routing(receipt: Mapping[str, str]) -> RoutingModel | None:
    """The part of a stored receipt that routers tell; None when they told nothing."""
    told = RoutingModel(
        candidates=_listed(receipt.get("route_candidates")),
        rejected=_listed(receipt.get("route_rejected")),
        reason=receipt.get("route_reason"),
        fallback=receipt.get("route_fallback"),
        admission_wait=_seconds(receipt.get("admission_ms")),
        deadline=_instant(receipt.get("deadline_ns")),
    )
    return told if any(value is not None for _, value in told) else None


def _listed(text: str | None) -> list[str] | None:
    """A list as routers send it: an array attribute as it was stored, JSON, or one value as text."""
    if text is None:
        return None
    with suppress(ValueError, DecodeError):
        if text.startswith(_ARRAY):
            return [_worded(value) for value in ArrayValue.FromString(_bytes(text)).values]
        if isinstance(found := json.loads(text), list):
            return [item if isinstance(item, str) else json.dumps(item) for item in found]
    return [text]


def _bytes(text: str) -> bytes:
    return base64.b64decode(text.removeprefix(_ARRAY), validate=True)


def _worded(value: AnyValue) -> str:
    kind = value.WhichOneof("value")
    return "" if kind is None else str(getattr(value, kind))


def _seconds(milliseconds: str | None) -> float | None:
    """Seconds; None for what is no length of time."""
    with suppress(TypeError, ValueError):
        found = float(milliseconds or "") / 1e3
        return found if 0 <= found < 1e9 else None
    return None


def _instant(ns: str | None) -> str | None:
    with suppress(TypeError, ValueError):
        found = int(ns or "")
        return rfc3339(found) if 0 < found <= MAX_NS else None
    return None
