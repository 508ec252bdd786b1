"""Puts panels, variables, links and annotations together into one dashboard."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from grafanalib import core

from dashboards.grafana.current import current
from dashboards.grafana.links import board_link
from dashboards.grafana.panels import Panel
from dashboards.grafana.queries import CLICKHOUSE, TABLE, Sql
from dashboards.grafana.variables import shared

WIDTH = 24
TAG = "pdscope"


@dataclass(frozen=True)
class Row:
    """A titled group of panels, laid from left to right and on."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Annotation:
    """Marks on every time axis, from SQL with columns time, title, text, tags."""

    name: str
    query: Sql
    color: str

    def json(self) -> dict[str, Any]:
        """Grafana's annotation."""
        return {
            "name": self.name,
            "enable": True,
            "hide": False,
            "iconColor": self.color,
            "datasource": CLICKHOUSE,
            "target": self.query.target("Anno").to_json_data(),
        }


_MARK = {"time": "time", "title": "text", "text": "text", "tags": "text"}
ANNOTATIONS = (
    Annotation("Crashes", Sql("annotations/crashes", _MARK, TABLE), "dark-red"),
    Annotation("Restarts", Sql("annotations/restarts", _MARK, TABLE), "red"),
    Annotation("Configuration changes", Sql("annotations/configuration", _MARK, TABLE), "blue"),
    Annotation("New processes", Sql("annotations/processes", _MARK, TABLE), "purple"),
)


@dataclass(frozen=True)
class Board:
    """One dashboard."""

    uid: str
    title: str
    description: str
    rows: tuple[Row, ...]
    variables: tuple[dict[str, Any], ...] = ()
    since: str = "now-6h"
    refresh: str = "30s"
    annotations: tuple[Annotation, ...] = field(default=ANNOTATIONS)

    @property
    def panels(self) -> list[Panel]:
        """All panels in order."""
        return [panel for row in self.rows for panel in row.panels]

    def json(self, others: Sequence["Board"]) -> dict[str, Any]:
        """Return what Grafana reads, with links to the other dashboards."""
        links = [board_link(o.title, o.description, o.uid) for o in others if o.uid != self.uid]
        return current(
            core.Dashboard(
                title=f"pdscope / {self.title}",
                uid=self.uid,
                description=self.description,
                tags=[TAG],
                timezone="utc",
                editable=True,
                graphTooltip=core.GRAPH_TOOLTIP_MODE_SHARED_CROSSHAIR,
                refresh=self.refresh,
                time=core.Time(self.since, "now"),
                links=links,
                templating=core.Templating(list=[*shared(), *self.variables]),
                annotations=core.Annotations(list=[item.json() for item in self.annotations]),
                panels=_laid(self.rows),
            )
        )


def _laid(rows: Sequence[Row]) -> list[core.Panel]:
    """Panels in lines of 24 columns below the title of their row."""
    out: list[core.Panel] = []
    y = 0
    for row in rows:
        out.append(_title(row.title, y, len(out) + 1))
        y += 1
        x = tallest = 0
        for panel in row.panels:
            if x + panel.width > WIDTH:
                x, y, tallest = 0, y + tallest, 0
            out.append(panel.build((x, y), len(out) + 1))
            x, tallest = x + panel.width, max(tallest, panel.height)
        y += tallest
    return out


class _TitleRow(core.RowPanel):  # type: ignore[misc]
    """A row title that folds nothing away."""

    def to_json_data(self) -> dict[str, Any]:
        """Return the row as JSON data."""
        return {
            "type": "row",
            "id": self.id,
            "title": self.title,
            "collapsed": False,
            "gridPos": self.gridPos,
            "panels": [],
        }


def _title(text: str, y: int, number: int) -> core.RowPanel:
    return _TitleRow(title=text, gridPos=core.GridPos(h=1, w=WIDTH, x=0, y=y), id=number)
