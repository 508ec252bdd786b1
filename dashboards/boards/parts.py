"""What several dashboards share: names, colours of phases, thresholds, words for emptiness."""

from dashboards.grafana.links import Link
from dashboards.grafana.panels import Column
from dashboards.grafana.variables import choice

OVERVIEW_UID = "pdscope-slo"
WHY_UID = "pdscope-why"
POOLS_UID = "pdscope-pools"
HAND_OFF_UID = "pdscope-handoff"
REQUEST_UID = "pdscope-request"
TELEMETRY_UID = "pdscope-telemetry"

PERCENTILE = choice(
    "percentile",
    "Percentile",
    "Which percentile the latency panels show.",
    {"p50": "0.5", "p95": "0.95", "p99": "0.99"},
)

NO_REQUESTS = (
    "No requests in this time range match the filters. Widen the range or the filters; if traffic flows, "
    "see Telemetry health."
)
NO_MISSES = "No request missed in this time range."
NO_CAUSES = (
    "No minute of this time range has causes: nothing missed, or it is not analysed yet (a few seconds)."
)
NO_SIGNAL = (
    "No pool sent this signal in this time range. Send the engines' metrics to pdscope "
    "(docs/instrumenting.md)."
)
NO_TRANSFERS = (
    "No KV hand-off was seen in this time range. Only spans tell of them: see Telemetry health, and "
    "docs/instrumenting.md for the traced connector."
)
NO_RECORD = (
    "Prometheus has no such series: it does not scrape pdscope's /metrics, or the rules are not loaded."
)
CHOOSE = "Type a request id, key or trace id into Request at the top, or come here by a link."

PHASE_COLORS = {
    "router_queue": "#7EB26D",
    "tokenize": "#EAB839",
    "prefill_queue": "#E24D42",
    "prefill_compute": "#F9934E",
    "kv_publish": "#B877D9",
    "kv_transfer": "#6ED0E0",
    "decode_queue": "#1F78C1",
    "kv_import": "#705DA0",
    "first_decode_step": "#508642",
    "network_streaming": "#CCA300",
    "retry": "#C4162A",
    "unattributed": "#808080",
    "decode": "#447EBC",
    "unknown": "#52545C",
}
"""One colour a phase, the same on every panel."""

PHASES = {name: Column(color=color) for name, color in PHASE_COLORS.items()}

TO_REQUEST = Link("Open the request", REQUEST_UID, (("request", "${__data.fields.Request:percentencode}"),))


def good_from(good: float, fair: float) -> tuple[tuple[float | None, str], ...]:
    """Thresholds for fractions where more is better."""
    return ((None, "red"), (fair, "yellow"), (good, "green"))


def bad_from(fair: float, bad: float) -> tuple[tuple[float | None, str], ...]:
    """Thresholds for figures where more is worse."""
    return ((None, "green"), (fair, "yellow"), (bad, "red"))
