"""Alerts that name a cause or a finding, and those for telemetry itself."""

from dataclasses import dataclass, field
from typing import Any

from dashboards.alerts.places import Places
from dashboards.alerts.windows import duration
from dashboards.boards.parts import HAND_OFF_UID, POOLS_UID, TELEMETRY_UID, WHY_UID

Rule = dict[str, Any]

RECORDED: tuple[Rule, ...] = (
    {
        "record": "pdscope:cause_burn_rate",
        "expr": "sum by (slo, model, cause) (pdscope_missed_requests_by_cause)\n"
        "/ on (slo, model) group_left () pdscope_evaluated_requests\n"
        "/ on (slo) group_left () (1 - pdscope_slo_target_ratio)",
    },
)
"""How many times too fast one cause alone burns the budget, over the last 10 minutes."""

FEW = 5
"""A cause of fewer misses in 10 minutes wakes nobody."""
_NOT_FEW = (
    f"and on (slo, model, cause) sum by (slo, model, cause) (pdscope_missed_requests_by_cause) >= {FEW}"
)


@dataclass(frozen=True)
class Alert:
    """One alerting rule. `expr` may hold {job}; texts are Prometheus templates."""

    name: str
    expr: str
    summary: str
    description: str
    runbook: str
    board: str
    hold_s: int = 300
    severity: str = "ticket"
    labels: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    def rule(self, places: Places, shorten: int = 1) -> Rule:
        """The rule as Prometheus reads it."""
        return {
            "alert": self.name,
            "expr": self.expr.replace("{job}", places.job),
            "for": duration(max(1, self.hold_s // shorten)),
            "labels": {"severity": self.severity, **self.labels},
            "annotations": {
                "summary": self.summary,
                "description": self.description,
                "dashboard": places.dashboard(self.board, **self.variables),
                "runbook_url": places.runbook(self.runbook),
            },
        }


def _cause(name: str, causes: str, what: str, board: str) -> Alert:
    """An alert on the causes that a regular expression matches; each cause, objective and model by itself."""
    return Alert(
        name,
        f'pdscope:cause_burn_rate{{cause=~"{causes}"}} > 1\n{_NOT_FEW}',
        f'{{{{ $labels.slo }}}}: {what} burns the budget {{{{ printf "%.1f" $value }}}} times too fast',
        "{{ with printf \"sum(pdscope_missed_requests_by_cause{slo='%s', model='%s', cause='%s'})\" "
        "$labels.slo $labels.model $labels.cause | query }}{{ with first . }}{{ .Value | humanize }} requests"
        "{{ end }}{{ end }} of the last 10 minutes missed for {{ $labels.cause }}"
        "{{ if $labels.model }} (model {{ $labels.model }}){{ end }}.",
        "{{ $labels.cause }}",
        board,
        variables={"objective": "{{ $labels.slo | urlquery }}"},
    )


POOLS = r"pool_imbalance\\..+|overload"
SLOW = r"transfer_delay\\..+"
FAILING = r"transfer_failure\\..+"
ORPHANS = r"orphaned_kv\\..+"

ALERTS: tuple[Alert, ...] = (
    _cause("PdscopePoolImbalance", POOLS, "{{ $labels.cause }}", POOLS_UID),
    _cause("PdscopeTransferSlow", SLOW, "{{ $labels.cause }}", HAND_OFF_UID),
    _cause("PdscopeTransferFailing", FAILING, "{{ $labels.cause }}", HAND_OFF_UID),
    _cause("PdscopeOrphanedKv", ORPHANS, "{{ $labels.cause }}", HAND_OFF_UID),
    Alert(
        "PdscopeOtherCause",
        f'pdscope:cause_burn_rate{{cause!~"{POOLS}|{SLOW}|{FAILING}|{ORPHANS}"}} > 1\n{_NOT_FEW}',
        '{{ $labels.slo }}: {{ $labels.cause }} burns the budget {{ printf "%.1f" $value }} times too fast',
        "Requests of the last 10 minutes missed for {{ $labels.cause }}"
        "{{ if $labels.model }} (model {{ $labels.model }}){{ end }}.",
        "{{ $labels.cause }}",
        WHY_UID,
        variables={"objective": "{{ $labels.slo | urlquery }}"},
    ),
    Alert(
        "PdscopeTransfersFail",
        "pdscope_kv_handoffs_failed_recent / pdscope_kv_handoffs_recent > 0.01\n"
        f"and pdscope_kv_handoffs_failed_recent >= {FEW}",
        "{{ $value | humanizePercentage }} of KV hand-offs fail ({{ $labels.pool }} side)",
        "Over the last 10 minutes. Each failed hand-off is a recompute or an error.",
        "transfer_failure.stale_peer",
        HAND_OFF_UID,
        labels={"finding": "failed_transfers"},
    ),
    Alert(
        "PdscopeOrphansGrow",
        'pdscope_kv_orphans{pool="prefill"} >= 10 and delta(pdscope_kv_orphans{pool="prefill"}[15m]) > 0',
        "{{ $value | humanize }} orphaned hand-offs are held on prefill, and more every minute",
        "Published KV that no decode will read fills prefill's cache.",
        "orphaned_kv.unclaimed",
        HAND_OFF_UID,
        600,
        labels={"cause": "orphaned_kv.unclaimed"},
    ),
    Alert(
        "PdscopeReservationsGrow",
        'pdscope_kv_orphans{pool="decode"} >= 10 and delta(pdscope_kv_orphans{pool="decode"}[15m]) > 0',
        "{{ $value | humanize }} reservations on decode wait for KV that does not come",
        "Room on decode that was set aside and never filled keeps other requests out.",
        "orphaned_kv.reserved_never_filled",
        HAND_OFF_UID,
        600,
        labels={"cause": "orphaned_kv.reserved_never_filled"},
    ),
    Alert(
        "PdscopeLeaseTooShort",
        'pdscope_kv_handoffs_expired_recent{pool="prefill"}'
        ' / pdscope_kv_handoffs_recent{pool="prefill"} > 0.01\n'
        f'and pdscope_kv_handoffs_expired_recent{{pool="prefill"}} >= {FEW}',
        "{{ $value | humanizePercentage }} of KV hand-offs outlive their lease unread",
        "Over the last 10 minutes. Decode comes later than the lease allows; its KV is gone by then.",
        "orphaned_kv.expired_before_read",
        HAND_OFF_UID,
        labels={"cause": "orphaned_kv.expired_before_read", "finding": "lease_too_short"},
    ),
    Alert(
        "PdscopeLateKvReads",
        "pdscope_kv_late_reads_recent > 0",
        "{{ $value | humanize }} hand-offs were read after their lease had ended",
        "Their blocks may have held another request's data: answers may be wrong although they say success.",
        "orphaned_kv.expired_before_read",
        HAND_OFF_UID,
        60,
        "page",
        {"cause": "orphaned_kv.expired_before_read", "finding": "stale_kv_read_risk"},
    ),
    Alert(
        "PdscopeNoProgress",
        "sum by (pool, model) (pdscope_pool_queue_requests) > 0\n"
        "and on (pool, model)\n"
        'sum by (pool, model) ({__name__=~"pdscope_pool_(generated|prompt)_tokens_per_second"}) == 0',
        "{{ $labels.pool }}: {{ $value | humanize }} requests wait and not a token moves",
        "The pool answers its metrics, work is queued, and its token counters stand still.",
        "no_progress_while_healthy",
        POOLS_UID,
        120,
        "page",
        {"finding": "no_progress_while_healthy"},
        {"pool": "{{ $labels.pool }}"},
    ),
    Alert(
        "PdscopeRequestsStuck",
        "max by (pool, model) (pdscope_oldest_request_age_seconds)"
        " > 20 * scalar(max(pdscope_slo_ttft_limit_seconds))",
        "A request has been under way for {{ $value | humanizeDuration }}",
        "That is more than 20 times the longest TTFT objective; it may hold KV and a slot for nothing.",
        "requests_stuck",
        POOLS_UID,
        120,
    ),
    Alert(
        "PdscopeDown",
        'up{job="{job}"} == 0 or absent(up{job="{job}"})',
        "pdscope does not answer",
        "Objectives are not watched while it is down. Exporters lose what they cannot buffer.",
        "telemetry_broken",
        TELEMETRY_UID,
        120,
        "page",
    ),
    Alert(
        "PdscopeNoTelemetry",
        "sum(rate(pdscope_received_spans_total[10m])) == 0"
        " and sum(increase(pdscope_received_spans_total[6h])) > 0",
        "No span has been received for 10 minutes",
        "Spans came before. Either traffic stopped or an exporter did; nothing is judged meanwhile.",
        "telemetry_broken",
        TELEMETRY_UID,
    ),
    Alert(
        "PdscopeTelemetryRefused",
        "sum by (reason) (rate(pdscope_refused_spans_total[10m]))"
        " / ignoring (reason) group_left () sum(rate(pdscope_received_spans_total[10m])) > 0.01",
        "{{ $value | humanizePercentage }} of spans are refused ({{ $labels.reason }})",
        "Verdicts lack what is refused.",
        "telemetry_broken",
        TELEMETRY_UID,
        600,
    ),
    Alert(
        "PdscopeBehind",
        "pdscope_assembly_lag_inserts > 1000 or time() - pdscope_export_timestamp_seconds > 120",
        "pdscope lags behind what it receives",
        "Alerts and dashboards show an old state: it is short of CPU, or its store fails.",
        "telemetry_broken",
        TELEMETRY_UID,
        300,
    ),
)
"""Every alert that does not depend on slo.yaml."""
