"""Everything that is generated for Grafana: dashboards, and the files it reads at start to find them."""

import json

from dashboards.boards import BOARDS
from dashboards.boards.parts import REQUEST_UID
from dashboards.output import Files
from dashboards.yaml_text import dump

FOLDER = "pdscope"
CLICKHOUSE_UID = "pdscope-clickhouse"
PROMETHEUS_UID = "pdscope-prometheus"
_EXEMPLARS = {
    "name": "trace_id",
    "urlDisplayLabel": "Open the request",
    "url": f"/d/{REQUEST_UID}?var-request=$${{__value.raw}}",
}
"""Where the trace of an exemplar leads; `$$` is a `$` in a file in which Grafana reads its environment."""
_HEAD = "# Made by `pdscope dashboards build`; change the builders, not this file.\n"


def dashboard_files() -> Files:
    """Dashboards as JSON, by file name."""
    return {
        f"dashboards/{board.uid}.json": json.dumps(
            board.json(BOARDS), indent=2, sort_keys=True, ensure_ascii=False
        )
        + "\n"
        for board in BOARDS
    }


def provisioning_files() -> Files:
    """Data sources and the dashboards' folder, as Grafana's provisioning reads them.

    Grafana takes addresses and secrets from its environment: PDSCOPE_CLICKHOUSE_HOST, …_PORT, …_DATABASE,
    …_USER, …_TOKEN and PDSCOPE_PROMETHEUS_URL.
    """
    return {
        "provisioning/datasources/pdscope.yml": _HEAD + dump({"apiVersion": 1, "datasources": _sources()}),
        "provisioning/dashboards/pdscope.yml": _HEAD
        + dump(
            {
                "apiVersion": 1,
                "providers": [
                    {
                        "name": FOLDER,
                        "folder": FOLDER,
                        "type": "file",
                        "disableDeletion": True,
                        "allowUiUpdates": False,
                        "updateIntervalSeconds": 60,
                        "options": {"path": "/var/lib/grafana/dashboards/pdscope"},
                    }
                ],
            }
        ),
    }


def _sources() -> list[dict[str, object]]:
    clickhouse = {
        "name": "pdscope ClickHouse",
        "uid": CLICKHOUSE_UID,
        "type": "grafana-clickhouse-datasource",
        "access": "proxy",
        "editable": False,
        "jsonData": {
            "host": "$PDSCOPE_CLICKHOUSE_HOST",
            "port": "$PDSCOPE_CLICKHOUSE_PORT",
            "protocol": "http",
            "secure": False,
            "username": "$PDSCOPE_CLICKHOUSE_USER",
            "defaultDatabase": "$PDSCOPE_CLICKHOUSE_DATABASE",
            "traces": {"defaultTable": "otel_traces", "otelEnabled": True},
        },
        "secureJsonData": {"password": "$PDSCOPE_CLICKHOUSE_TOKEN"},
    }
    prometheus = {
        "name": "pdscope Prometheus",
        "uid": PROMETHEUS_UID,
        "type": "prometheus",
        "access": "proxy",
        "editable": False,
        "url": "$PDSCOPE_PROMETHEUS_URL",
        "jsonData": {
            "httpMethod": "POST",
            "timeInterval": "15s",
            "exemplarTraceIdDestinations": [_EXEMPLARS],
        },
    }
    return [clickhouse, prometheus]
