"""What the endpoint lets a statement read and call, and nothing else."""

import re

from collector.endpoint.word_lists import folded

DATABASE = "default"

VIEWS = {
    "otel_traces": "Every stored span, with the column names of OpenTelemetry's ClickHouse exporter.",
    "otel_traces_trace_id_ts": "When each trace began and ended.",
    "request_log": "One row per request: labels, outcome, tokens, latencies, exposed time by phase.",
    "request_phases": "One row per phase interval of a request.",
    "kv_transfers": "One row per KV hand-off: who, when, how much, how fast, how it ended.",
    "objective_minutes": "Requests per minute and configured objective: how many met, missed and so on.",
    "causes_by_minute": "Missed requests per minute by cause and configured objective.",
    "findings_by_five_minutes": "What was found about the fleet and its telemetry, by model.",
    "request_causes": "Why single requests missed: shares of causes.",
    "current_objectives": "The objectives in force.",
    "processes": "The processes that sent telemetry, with their pool.",
    "worker_clocks": "By how much workers' clocks ran ahead of their routers', per five minutes.",
    "latency_minutes": "Sketches of TTFT, TPOT and end-to-end time per minute, to be merged.",
}
"""Views a statement may read, with what each is."""

PARAMETERISED = {
    "judged_requests": "Requests of a window judged against objectives given as arrays.",
    "pool_signals": "The pools' signals of a window, one row per point.",
    "kv_holdings": "What KV each worker held in a window, and for whom.",
    "signal_histograms": "What each distribution grew by since its point before.",
}
"""Views that take arguments: `FROM pool_signals(from_ns = …, to_ns = …, wanted = [])`."""

NO_TABLE = "system.one"
"""What a SELECT without FROM reads: one row that holds nothing."""

_COMBINATORS = re.compile(
    r"(SimpleState|OrDefault|MergeState|Distinct|Resample|ForEach|ArgMin|ArgMax|OrNull|Array|Merge|State|Map|If)$"
)


def callable_function(name: str) -> bool:
    """Whether a statement may call the function of this name; combinators of allowed aggregates count."""
    if name.lower() in folded("functions"):
        return True
    while name.lower() not in folded("aggregates"):
        shorter = _COMBINATORS.sub("", name)
        if shorter == name:
            return False
        name = shorter
    return True
