"""What scraping itself tells of a worker: whether it answered, why not, and that it is gone."""

from collections.abc import Sequence

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import ScopeMetrics

from collector.scrape.page import SCOPE, attribute

UP = "up"
"""1 when the worker's page could be had, 0 when it could not."""
FAILED = "pdscope.scrape.failed"
"""1, with the reason, beside an `up` of 0."""
LEFT = "pdscope.target.left"
"""1, once: from then on it is no target any more, and why."""


def answered(resource: Sequence[KeyValue], time_ns: int) -> bytes:
    """An export that says that a worker answered."""
    return _export(resource, time_ns, (UP, 1.0, ""))


def failed(resource: Sequence[KeyValue], time_ns: int, reason: str) -> bytes:
    """An export that says that it did not."""
    return _export(resource, time_ns, (UP, 0.0, ""), (FAILED, 1.0, reason))


def left(resource: Sequence[KeyValue], time_ns: int, why: str, lost: bool) -> bytes:
    """An export that says that it is gone. lost: nobody took it away on purpose, so it is down as well."""
    gone = (LEFT, 1.0, why)
    return _export(resource, time_ns, (UP, 0.0, ""), gone) if lost else _export(resource, time_ns, gone)


def _export(resource: Sequence[KeyValue], time_ns: int, *points: tuple[str, float, str]) -> bytes:
    export = ExportMetricsServiceRequest()
    sent = export.resource_metrics.add()
    sent.resource.attributes.extend(resource)
    scope: ScopeMetrics = sent.scope_metrics.add()
    scope.scope.name = SCOPE
    for name, value, reason in points:
        point = scope.metrics.add(name=name).gauge.data_points.add(time_unix_nano=time_ns, as_double=value)
        if reason:
            point.attributes.append(attribute("reason", reason))
    return export.SerializeToString()
