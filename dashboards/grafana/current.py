"""Brings grafanalib's generic JSON to Grafana's current dashboard schema.

grafanalib 0.7.1 writes schema 12 with fields that are gone since (`rows`, `style`, `editable` of a panel,
`fontSize` …) and null for everything unset. Here unset is absent and only fields of the schema stay.
"""

import json
from typing import Any, Final

from grafanalib._gen import DashboardEncoder
from grafanalib.core import Dashboard

SCHEMA_VERSION = 42

_DASHBOARD: Final = """
    id uid title description revision tags timezone editable graphTooltip time timepicker weekStart refresh
    schemaVersion version panels templating annotations links preload liveNow"""
_PANEL: Final = """
    type id pluginVersion targets title description transparent datasource gridPos links maxDataPoints
    transformations interval timeFrom timeShift options fieldConfig"""
_ROW: Final = "type id title collapsed gridPos panels"
_GONE_OPTIONS = ("fieldOptions", "showThresholdLabels", "showThresholdMarkers")
"""What grafanalib's bar gauge has of a gauge of years ago."""
_DEFAULTS: Final = "unit decimals min max mappings thresholds color links noValue custom displayName"


def _fields(value: dict[str, Any], names: str) -> dict[str, Any]:
    known = names.split()
    return {key: member for key, member in value.items() if key in known}


def current(dashboard: Dashboard) -> dict[str, Any]:
    """Return the dashboard as Grafana saves it today."""
    raw = _present(json.loads(json.dumps(dashboard.to_json_data(), cls=DashboardEncoder)))
    out = _fields(raw, _DASHBOARD)
    out["schemaVersion"] = SCHEMA_VERSION
    out["id"] = None
    # grafanalib's time picker is of before time ranges had names.
    out["timepicker"] = {}
    out["panels"] = [_panel(panel) for panel in raw["panels"]]
    return out


def _panel(raw: dict[str, Any]) -> dict[str, Any]:
    if raw["type"] == "row":
        return _fields(raw, _ROW)
    out = _fields(raw, _PANEL)
    for gone in _GONE_OPTIONS:
        out["options"].pop(gone, None)
    config = out["fieldConfig"]
    defaults = _fields(config["defaults"], _DEFAULTS)
    if not isinstance(defaults.get("thresholds", {}).get("steps", []), list):
        del defaults["thresholds"]
    for step in defaults.get("thresholds", {}).get("steps", []):
        # The lowest step has no bound, which the schema wants said.
        step.setdefault("value", None)
    out["fieldConfig"] = {"defaults": defaults, "overrides": config.get("overrides", [])}
    return out


def _present(value: Any) -> Any:
    """The same without members that are null."""
    if isinstance(value, dict):
        return {key: _present(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_present(member) for member in value]
    return value
