"""Links between dashboards that keep the time and the variables, and links from cells."""

from dataclasses import dataclass
from typing import Any

KEPT = ("model", "tenant", "route", "cohort", "pool", "worker", "input_bucket", "objective")
"""Variables that every dashboard has and links carry along."""
SOURCES = ("clickhouse", "prometheus")


@dataclass(frozen=True)
class Link:
    """From a cell to a dashboard, setting some of its variables; values may use Grafana's `${__data…}`."""

    title: str
    uid: str
    sets: tuple[tuple[str, str], ...] = ()


def field_link(link: Link) -> dict[str, Any]:
    """Grafana's link of a field; it keeps the time range and every other variable."""
    kept = [f"${{{name}:queryparam}}" for name in (*SOURCES, *KEPT) if name not in dict(link.sets)]
    given = [f"var-{name}={value}" for name, value in link.sets]
    return {
        "title": link.title,
        "type": "link",
        "icon": "external link",
        "tooltip": link.title,
        "url": f"/d/{link.uid}?" + "&".join(["${__url_time_range}", *given, *kept]),
        "tags": [],
        "asDropdown": False,
        "targetBlank": False,
        "includeVars": False,
        "keepTime": False,
    }


def board_link(title: str, tooltip: str, uid: str) -> dict[str, Any]:
    """A link at the top of a dashboard to another; Grafana adds time and variables."""
    return {
        "title": title,
        "type": "link",
        "icon": "dashboard",
        "tooltip": tooltip,
        "url": f"/d/{uid}",
        "tags": [],
        "asDropdown": False,
        "targetBlank": False,
        "includeVars": True,
        "keepTime": True,
    }
