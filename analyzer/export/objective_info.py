"""What the objectives in force are, as gauges that rules and panels can compare with."""

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from analyzer.slo.objectives import Objectives


class ObjectiveInfo(Collector):
    """Limits and targets by objective."""

    def __init__(self, objectives: Callable[[], Objectives]):
        self._objectives = objectives

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """One series per objective and figure."""
        target = GaugeMetricFamily(
            "pdscope_slo_target_ratio", "Part of evaluated requests that must meet.", labels=["slo"]
        )
        ttft = GaugeMetricFamily("pdscope_slo_ttft_limit_seconds", "Longest TTFT that meets.", labels=["slo"])
        tpot = GaugeMetricFamily("pdscope_slo_tpot_limit_seconds", "Longest TPOT that meets.", labels=["slo"])
        for item in self._objectives().items:
            target.add_metric([item.name], item.target)
            ttft.add_metric([item.name], item.ttft)
            tpot.add_metric([item.name], item.tpot)
        yield from (target, ttft, tpot)
