"""The Prometheus rule file."""

from analyzer.slo.objectives import Objectives
from dashboards.alerts.burn import burn_groups
from dashboards.alerts.causes import ALERTS, RECORDED
from dashboards.alerts.places import Places
from dashboards.yaml_text import dump

_HEAD = """\
# Made by `pdscope rules build`; change slo.yaml and build again, not this file.
# Windows and factors: The Site Reliability Workbook, chapter 5. Metrics: docs/on-call.md.
"""


def rule_file(objectives: Objectives, places: Places, shorten: int = 1, every_s: int | None = None) -> str:
    """Return the rules as YAML. every_s: how often they are evaluated; None leaves it to Prometheus.

    shorten divides windows and waiting times, for trying rules out.
    """
    groups = [
        *burn_groups(objectives, places, shorten),
        {"name": "pdscope_causes", "rules": [*RECORDED, *(a.rule(places, shorten) for a in ALERTS)]},
    ]
    if every_s:
        groups = [{"name": group["name"], "interval": f"{every_s}s", **group} for group in groups]
    return _HEAD + dump({"groups": groups})
