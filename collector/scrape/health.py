"""What scraping itself tells of a worker: whether it answered, why not, and that it is gone."""

from collections.abc import Sequence

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import ScopeMetrics

from collector.scrape.page import SCOPE, WORKER, attribute

UP = "up"
"""1 when the worker's page could be had, 0 when it could not."""
FAILED = "pdscope.scrape.failed"
"""1, with the reason, beside an `up` of 0."""
LEFT = "pdscope.target.left"
"""1, once: from then on it is no target any more, and why."""


def answered(resource: Sequence[KeyValue], time_ns: int, known_as: str = "") -> bytes:
    """An export that says that a worker answered. known_as: how requests name it, where its page says so."""
    return _export(resource, time_ns, known_as, (UP, 1.0, ""))


def failed(resource: Sequence[KeyValue], time_ns: int, reason: str, known_as: str = "") -> bytes:
    """An export that says that it did not."""
    return _export(resource, time_ns, known_as, (UP, 0.0, ""), (FAILED, 1.0, reason))


def left(resource: Sequence[KeyValue], time_ns: int, why: str, lost: bool, known_as: str = "") -> bytes:
    """An export that says that it is gone. lost: nobody took it away on purpose, so it is down as well."""
    down = [(UP, 0.0, "")] if lost else []
    return _export(resource, time_ns, known_as, *down, (LEFT, 1.0, why))


def _export(
    resource: Sequence[KeyValue], time_ns: int, known_as: str, *points: tuple[str, float, str]
) -> bytes:
    export = ExportMetricsServiceRequest()
    sent = export.resource_metrics.add()
    sent.resource.attributes.extend(resource)
    scope: ScopeMetrics = sent.scope_metrics.add()
    scope.scope.name = SCOPE
    for name, value, reason in points:
        point = scope.metrics.add(name=name).gauge.data_points.add(time_unix_nano=time_ns, as_double=value)
        if reason:
            point.attributes.append(attribute("reason", reason))
        if known_as and name == UP:
            point.attributes.append(attribute(WORKER, known_as))
    return export.SerializeToString()
