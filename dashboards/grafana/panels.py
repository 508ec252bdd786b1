"""Panels: what each shows, what it means, what to do about it, and what it says when it is empty."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from grafanalib import core

from dashboards.grafana.links import Link, field_link
from dashboards.grafana.queries import CLICKHOUSE, PROMETHEUS, Query, Sql


class Kind(StrEnum):
    """Grafana's panel types that are used."""

    TIME_SERIES = "timeseries"
    STAT = "stat"
    TABLE = "table"
    BAR_GAUGE = "bargauge"
    HEAT = "state-timeline"
    TRACES = "traces"


@dataclass(frozen=True)
class Column:
    """How one column of a table, or one series, is shown."""

    title: str = ""
    unit: str = ""
    """A Grafana unit that differs from the panel's; one of UNITS."""
    color: str = ""


@dataclass(frozen=True)
class Panel:
    """One panel. `means` and `do` make its description; `empty` is shown when there is no data."""

    kind: Kind
    title: str
    means: str
    do: str
    empty: str
    queries: tuple[Query, ...]
    unit: str = "short"
    width: int = 12
    height: int = 8
    stacked: bool = False
    steps: tuple[tuple[float | None, str], ...] = ()
    """Thresholds: (from value, colour), the first from None."""
    columns: dict[str, Column] = field(default_factory=dict)
    link: Link | None = None
    """Where every cell leads."""
    lowest: float | None = 0
    highest: float | None = None
    text: bool = False
    """A stat that shows a text column instead of numbers."""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """What the panel's information mark says."""
        return f"{self.means}\n\n**What to do:** {self.do}"

    def build(self, at: tuple[int, int], number: int) -> core.Panel:
        """Make the grafanalib panel at (x, y)."""
        units = sorted({column.unit for column in self.columns.values() if column.unit})
        asked = [query.target(chr(65 + index)) for index, query in enumerate(self.queries)]
        shared: dict[str, Any] = {
            "title": self.title,
            "description": self.description,
            "dataSource": CLICKHOUSE if isinstance(self.queries[0], Sql) else PROMETHEUS,
            "targets": [*asked, *(Sql(f"units/{unit}", {"unit": "text"}).target(unit) for unit in units)],
            "transformations": [*(self._unit(unit) for unit in units), *self._titles()],
            "gridPos": core.GridPos(h=self.height, w=self.width, x=at[0], y=at[1]),
            "id": number,
            "maxDataPoints": None,
        }
        return _BUILD[self.kind](self, shared)

    def _unit(self, unit: str) -> dict[str, Any]:
        """Give the columns of a unit what the query of that name says (Config from query results)."""
        names = "|".join(name for name, column in self.columns.items() if column.unit == unit)
        return {
            "id": "configFromData",
            "options": {
                "configRefId": unit,
                "mappings": [{"fieldName": "unit", "handlerKey": "unit"}],
                "applyTo": {"id": "byRegexp", "options": f"/^({names})$/"},
            },
        }

    def _titles(self) -> list[dict[str, Any]]:
        titles = {name: column.title for name, column in self.columns.items() if column.title}
        if not titles:
            return []
        return [
            {"id": "organize", "options": {"renameByName": titles, "excludeByName": {}, "indexByName": {}}}
        ]


class Traces(core.Panel):  # type: ignore[misc]
    """The trace panel, which grafanalib does not know."""

    def to_json_data(self) -> Any:
        """Return the panel as JSON data."""
        return self.panel_json({"type": "traces", "options": {}})


class StateTimeline(core.Panel):  # type: ignore[misc]
    """One lane a worker, coloured by value; grafanalib's own has no custom colours."""

    def to_json_data(self) -> Any:
        """Return the panel as JSON data."""
        options = {
            "showValue": "never",
            "rowHeight": 0.9,
            "mergeValues": False,
            "alignValue": "center",
            "legend": {"showLegend": False, "displayMode": "hidden", "placement": "bottom", "calcs": []},
            "tooltip": {"mode": "single", "sort": "none"},
        }
        return self.panel_json({"type": "state-timeline", "options": options})


def _defaults(panel: Panel) -> dict[str, Any]:
    steps = [{"value": value, "color": color} for value, color in panel.steps or ((None, "blue"),)]
    return {
        "unit": panel.unit,
        "noValue": panel.empty,
        "min": panel.lowest,
        "max": panel.highest,
        "thresholds": {"mode": "absolute", "steps": steps},
        "color": {"mode": "thresholds" if panel.steps else "palette-classic"},
        "links": [field_link(panel.link)] if panel.link else None,
    }


def _overrides(panel: Panel) -> list[dict[str, Any]]:
    """Fixed colours. The published schema takes only objects as matcher options and values: hence byNames,
    and hence titles and units by transformations.
    """
    return [
        {
            "matcher": {"id": "byNames", "options": {"mode": "include", "names": [name]}},
            "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": column.color}}],
        }
        for name, column in panel.columns.items()
        if column.color
    ]


def _extra(panel: Panel, custom: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    defaults = _defaults(panel) | ({"custom": custom} if custom is not None else {})
    return {
        "fieldConfig": {"defaults": defaults, "overrides": _overrides(panel)},
        "options": options | panel.options,
    }


def _time_series(panel: Panel, shared: dict[str, Any]) -> core.Panel:
    legend = {"showLegend": True, "displayMode": "list", "placement": "bottom", "calcs": []}
    return core.TimeSeries(
        **shared,
        drawStyle="bars" if panel.stacked else "line",
        fillOpacity=70 if panel.stacked else 8,
        lineWidth=0 if panel.stacked else 2,
        stacking={"mode": "normal" if panel.stacked else "none", "group": "A"},
        showPoints="never" if panel.stacked else "auto",
        extraJson=_extra(panel, {}, legend=legend, tooltip={"mode": "multi", "sort": "desc"}),
    )


def _stat(panel: Panel, shared: dict[str, Any]) -> core.Panel:
    reduce = {"values": panel.text, "calcs": ["lastNotNull"], "fields": "/.*/" if panel.text else ""}
    options: dict[str, Any] = {
        "reduceOptions": reduce,
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "textMode": "auto",
        "orientation": "auto",
        "wideLayout": True,
        "percentChangeColorMode": "standard",
        "showPercentChange": False,
    }
    return core.Stat(**shared, extraJson=_extra(panel, **options))


def _table(panel: Panel, shared: dict[str, Any]) -> core.Panel:
    options: dict[str, Any] = {
        "showHeader": True,
        "cellHeight": "sm",
        "frameIndex": 0,
        "showTypeIcons": False,
    }
    return core.Table(
        **shared, extraJson=_extra(panel, {"align": "auto", "inspect": False, "filterable": True}, **options)
    )


def _bar_gauge(panel: Panel, shared: dict[str, Any]) -> core.Panel:
    options: dict[str, Any] = {
        "displayMode": "basic",
        "orientation": "horizontal",
        "valueMode": "text",
        "namePlacement": "left",
        "showUnfilled": True,
        "sizing": "auto",
        "minVizWidth": 8,
        "minVizHeight": 16,
        "maxVizHeight": 300,
        "reduceOptions": {"values": True, "calcs": ["lastNotNull"], "fields": ""},
        "legend": {"showLegend": False, "displayMode": "list", "placement": "bottom", "calcs": []},
    }
    return core.BarGauge(**shared, extraJson=_extra(panel, **options))


def _heat(panel: Panel, shared: dict[str, Any]) -> core.Panel:
    custom = {"fillOpacity": 80, "lineWidth": 0, "spanNulls": False}
    extra = _extra(panel, custom)
    extra["fieldConfig"]["defaults"]["color"] = {"mode": "continuous-GrYlRd"}
    return StateTimeline(**shared, extraJson=extra)


def _traces(panel: Panel, shared: dict[str, Any]) -> core.Panel:
    return Traces(**shared, extraJson={"fieldConfig": {"defaults": {"noValue": panel.empty}}})


_BUILD = {
    Kind.TIME_SERIES: _time_series,
    Kind.STAT: _stat,
    Kind.TABLE: _table,
    Kind.BAR_GAUGE: _bar_gauge,
    Kind.HEAT: _heat,
    Kind.TRACES: _traces,
}
