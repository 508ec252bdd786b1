"""A metrics page as an OTLP export.

A page of one process keeps its series from one scrape to the next: they are parsed once, by
prometheus-client's parser, and laid out as an export; after that only the numbers are read and filled in.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AggregationTemporality,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    SummaryDataPoint,
)
from prometheus_client.parser import text_string_to_metric_families

from collector.scrape.errors import BadPage
from collector.scrape.wanted import START_TIME, Wanted

_CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
_SUFFIXES = ("", "_total", "_bucket", "_sum", "_count", "_created", "_info")
_TYPE = "# TYPE "
_POD_LABELS = ("exported_pod", "pod")
SCOPE = "pdscope.scrape"
WORKER = "pd.worker"
"""Label that names the worker of a series: where an exporter speaks of its pod, and where the page of
a process holds the name by which requests know it."""


def attribute(key: str, value: str) -> KeyValue:
    """A text attribute."""
    made = KeyValue(key=key)
    made.value.string_value = value
    return made


def split(text: str, wanted: Wanted, openmetrics: bool = False) -> tuple[list[str], list[str], int]:
    """(keys, numbers, lines left out) of what is kept of a page.

    A key is a TYPE line (its number is ''), or a series as the page writes it. openmetrics: values may be
    followed by exemplars. Raises BadPage.
    """
    keys: list[str] = []
    numbers: list[str] = []
    families = wanted.families
    family, kept, left_out = "", False, 0
    for line in text.split("\n"):
        if not line or line[0] == "#":
            if line.startswith(_TYPE):
                family = line[7:].split(" ", 1)[0]
                kept = family in families or f"{family}_total" in families
                if kept:
                    keys.append(line.rstrip())
                    numbers.append("")
            continue
        if not (kept if family and line.startswith(family) else _own_name(line) in families):
            left_out += 1
            continue
        if openmetrics:
            line = line.split(" # {", 1)[0]
        end = line.rfind("}") + 1 or line.find(" ")
        if end <= 0:
            raise BadPage("not_metrics", f"a line without a value: {line[:80]!r}")
        keys.append(line[:end])
        numbers.append(line[end:])
    return keys, numbers, left_out


def _own_name(line: str) -> str:
    return line.split("{", 1)[0].split(" ", 1)[0]


@dataclass
class _Histogram:
    point: HistogramDataPoint
    bounds: list[float] = field(default_factory=list)
    buckets: list[tuple[float, int]] = field(default_factory=list)
    sum: int | None = None
    count: int | None = None


@dataclass
class _Summary:
    point: SummaryDataPoint
    quantiles: list[tuple[Any, int]] = field(default_factory=list)
    sum: int | None = None
    count: int | None = None


class Layout:
    """An export laid out for the series of one page of one process; `fill` puts the numbers in."""

    def __init__(
        self,
        keys: Sequence[str],
        resource: Sequence[KeyValue],
        wanted: Wanted,
        pods: Mapping[str, str] | None = None,
    ):
        """Parse the series of a page. pods: worker by its pod's name. Raises BadPage."""
        self.keys = keys
        self.pods = {} if pods is None else pods
        self.families = [key[7:].split(" ", 1)[0] for key in keys if key.startswith(_TYPE)]
        self._wanted = wanted
        self._export = ExportMetricsServiceRequest()
        sent = self._export.resource_metrics.add()
        sent.resource.attributes.extend(resource)
        self._scope = sent.scope_metrics.add()
        self._scope.scope.name = SCOPE
        self._metrics: dict[tuple[str, str], Metric] = {}
        self._numbers: list[tuple[NumberDataPoint, int]] = []
        self._groups: dict[tuple[str, tuple[tuple[str, str], ...]], _Histogram | _Summary] = {}
        self._start: int | None = None
        self.own_name = ""
        self._own_names: set[str] = set()
        self._cumulative: list[Any] = []
        for place, (family, kind, key) in enumerate(self._typed()):
            if key:
                self._add(place, family, kind, key)
        self._sign()
        self._histograms = [group for group in self._groups.values() if isinstance(group, _Histogram)]
        self._summaries = [group for group in self._groups.values() if isinstance(group, _Summary)]
        for histogram in self._histograms:
            histogram.buckets.sort()
            histogram.bounds = [bound for bound, _ in histogram.buckets if math.isfinite(bound)]
        self.points = len(self._numbers) + len(self._groups)

    def _typed(self) -> Iterator[tuple[str, str, str]]:
        family = kind = ""
        for key in self.keys:
            if key.startswith(_TYPE):
                family, _, kind = key[7:].partition(" ")
                yield "", "", ""
            else:
                yield family, kind.strip(), key

    def _add(self, place: int, family: str, kind: str, key: str) -> None:
        name, labels = _series(key)
        if not (name.startswith(family) and name[len(family) :] in _SUFFIXES):
            family, kind = name, ""
        suffix = name[len(family) :]
        known = family if family in self._wanted.families else name
        if suffix == "_created" or known not in self._wanted.families:
            return
        if not self._wanted.keeps(known, labels):
            return
        if own := self._wanted.own_name(known, labels):
            self._own_names.add(own)
        if name == START_TIME:
            self._start = place
        if kind == "histogram":
            self._add_to_histogram(place, family, suffix, labels)
        elif kind == "summary":
            self._add_to_summary(place, family, suffix, labels)
        else:
            self._add_number(place, name, kind, labels)

    def _add_number(self, place: int, name: str, kind: str, labels: dict[str, str]) -> None:
        accumulates = kind == "counter" or (kind in ("", "untyped", "unknown") and name.endswith("_total"))
        metric = self._metric(name, "sum" if accumulates else "gauge")
        if accumulates:
            metric.sum.aggregation_temporality = _CUMULATIVE
            metric.sum.is_monotonic = True
            point = metric.sum.data_points.add()
            self._cumulative.append(point)
        else:
            point = metric.gauge.data_points.add()
        point.attributes.extend(self._attributes(labels))
        self._numbers.append((point, place))

    def _add_to_histogram(self, place: int, family: str, suffix: str, labels: dict[str, str]) -> None:
        bound = labels.pop("le", "")
        group = self._group(family, labels, "histogram")
        if suffix == "_bucket":
            group.buckets.append((_limit(bound, family), place))
        elif suffix == "_sum":
            group.sum = place
        elif suffix == "_count":
            group.count = place

    def _add_to_summary(self, place: int, family: str, suffix: str, labels: dict[str, str]) -> None:
        quantile = labels.pop("quantile", "")
        group = self._group(family, labels, "summary")
        if suffix == "_sum":
            group.sum = place
        elif suffix == "_count":
            group.count = place
        elif quantile:
            group.quantiles.append(
                (group.point.quantile_values.add(quantile=_limit(quantile, family)), place)
            )

    def _group(self, family: str, labels: dict[str, str], kind: str) -> Any:
        key = (family, tuple(sorted(labels.items())))
        found = self._groups.get(key)
        if found is None:
            metric = self._metric(family, kind)
            data = getattr(metric, kind)
            if kind == "histogram":
                data.aggregation_temporality = _CUMULATIVE
            point = data.data_points.add()
            point.attributes.extend(self._attributes(labels))
            self._cumulative.append(point)
            found = self._groups[key] = (_Histogram if kind == "histogram" else _Summary)(point)
        return found

    def _metric(self, name: str, kind: str) -> Metric:
        found = self._metrics.get((name, kind))
        if found is None:
            found = self._metrics[name, kind] = self._scope.metrics.add()
            found.name = name
            if name.endswith("_seconds") and kind != "gauge":
                found.unit = "s"
        return found

    def _attributes(self, labels: dict[str, str]) -> list[KeyValue]:
        pod = next((labels[name] for name in _POD_LABELS if labels.get(name)), "")
        worker = {WORKER: self.pods[pod]} if pod in self.pods else {}
        return [attribute(name, value) for name, value in {**labels, **worker}.items() if value]

    def _sign(self) -> None:
        """Where series of a page name its one worker as requests do, the others are that worker's as well."""
        if len(self._own_names) != 1:
            return
        (self.own_name,) = self._own_names
        points = [point for point, _ in self._numbers] + [group.point for group in self._groups.values()]
        for point in points:
            if all(label.key != WORKER for label in point.attributes):
                point.attributes.append(attribute(WORKER, self.own_name))

    def fill(self, numbers: Sequence[str], time_ns: int) -> bytes:
        """The export with these numbers, serialized. Raises BadPage when one is none."""
        try:
            # a time of the page's own may follow the value: a point's time is when it was scraped
            values = [float(number.split(None, 1)[0]) if number else math.nan for number in numbers]
        except (ValueError, IndexError) as error:
            raise BadPage("not_metrics", f"a value that is no number: {error}") from error
        for point, place in self._numbers:
            point.as_double = values[place]
            point.time_unix_nano = time_ns
        for histogram in self._histograms:
            _fill_histogram(histogram, values, time_ns)
        for summary in self._summaries:
            _fill_summary(summary, values, time_ns)
        self._tell_start(values, time_ns)
        return self._export.SerializeToString()

    def _tell_start(self, values: Sequence[float], time_ns: int) -> None:
        start = values[self._start] if self._start is not None else 0.0
        start_ns = int(start * 1e9) if math.isfinite(start) and 0 < start * 1e9 < time_ns else 0
        for point in self._cumulative:
            point.start_time_unix_nano = start_ns


def _fill_histogram(histogram: _Histogram, values: Sequence[float], time_ns: int) -> None:
    point = histogram.point
    point.time_unix_nano = time_ns
    upto = [values[place] for _, place in histogram.buckets]
    count = values[histogram.count] if histogram.count is not None else (upto[-1] if upto else 0.0)
    point.count = _whole(count)
    point.ClearField("sum")
    if histogram.sum is not None and math.isfinite(values[histogram.sum]):
        point.sum = values[histogram.sum]
    del point.bucket_counts[:]
    del point.explicit_bounds[:]
    edges = [0, *map(_whole, upto[: len(histogram.bounds)]), point.count]
    counts = [after - before for before, after in pairwise(edges)]
    # Buckets that contradict each other say nothing: count and sum stay.
    if upto and min(counts) >= 0:
        point.explicit_bounds.extend(histogram.bounds)
        point.bucket_counts.extend(counts)


def _fill_summary(summary: _Summary, values: Sequence[float], time_ns: int) -> None:
    summary.point.time_unix_nano = time_ns
    summary.point.count = _whole(values[summary.count]) if summary.count is not None else 0
    total = values[summary.sum] if summary.sum is not None else 0.0
    summary.point.sum = total if math.isfinite(total) else 0.0
    for quantile, place in summary.quantiles:
        quantile.value = values[place]


def _whole(value: float) -> int:
    return int(value) if math.isfinite(value) and 0 <= value < 2**63 else 0


def _limit(text: str, family: str) -> float:
    """A bucket's bound, or a quantile."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise BadPage("not_metrics", f"{family}: {text[:80]!r} is no bound of a bucket, and no quantile")
    return value


def _series(key: str) -> tuple[str, dict[str, str]]:
    try:
        sample = next(iter(text_string_to_metric_families(f"{key} 0"))).samples[0]
    except (ValueError, IndexError, StopIteration) as error:
        raise BadPage("not_metrics", f"a series that can't be read: {key[:80]!r}") from error
    return sample.name, dict(sample.labels)
