"""Time series for every alert, in promtool's notation: it fires, stays silent, and resolves."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """One alert in one course of events.

    series: name → values in promtool's notation, one a minute. At `at` it fires with `labels` and no other;
    at `silent_at`, before and after, it does not.
    """

    alert: str
    series: dict[str, str]
    at: str
    labels: dict[str, str] = field(default_factory=dict)
    silent_at: tuple[str, ...] = ("0m",)


MET = 'pdscope_slo_requests_total{{slo="{slo}",model="m",result="met"}}'
MISSED = 'pdscope_slo_requests_total{{slo="{slo}",model="m",result="missed"}}'
TTFT = 'pdscope_slo_ttft_misses_total{{slo="{slo}",model="m"}}'
TPOT = 'pdscope_slo_tpot_misses_total{{slo="{slo}",model="m"}}'


def cause_series(cause: str, missed: str, evaluated: str = "1000x60") -> dict[str, str]:
    """10 minutes of a cause: requests missed and evaluated, target 0.99."""
    return {
        f'pdscope_missed_requests_by_cause{{slo="default",model="m",cause="{cause}"}}': missed,
        'pdscope_evaluated_requests{slo="default",model="m"}': evaluated,
        'pdscope_slo_target_ratio{slo="default"}': "0.99x60",
    }


def of_cause(alert: str, cause: str) -> Case:
    """A cause that takes 5 % of requests from minute 5 to 25: five times what may miss."""
    return Case(
        alert,
        cause_series(cause, "0x4 50x20 0x35"),
        "15m",
        {"severity": "ticket", "slo": "default", "model": "m", "cause": cause},
        ("4m", "40m"),
    )


CASES = (
    of_cause("PdscopePoolImbalance", "pool_imbalance.prefill_starved"),
    of_cause("PdscopePoolImbalance", "overload"),
    of_cause("PdscopeTransferSlow", "transfer_delay.slow_link"),
    of_cause("PdscopeTransferFailing", "transfer_failure.stale_peer"),
    of_cause("PdscopeOrphanedKv", "orphaned_kv.leaked"),
    of_cause("PdscopeOtherCause", "preemption"),
    of_cause("PdscopeOtherCause", "insufficient_evidence"),
    Case(
        "PdscopeTransfersFail",
        {
            'pdscope_kv_handoffs_recent{pool="prefill"}': "100x60",
            'pdscope_kv_handoffs_failed_recent{pool="prefill"}': "0x4 10x20 0x35",
        },
        "15m",
        {"severity": "ticket", "pool": "prefill", "finding": "failed_transfers"},
        ("4m", "40m"),
    ),
    Case(
        "PdscopeOrphansGrow",
        {'pdscope_kv_orphans{pool="prefill"}': "0x5 0+5x30 0x40"},
        "25m",
        {"severity": "ticket", "pool": "prefill", "cause": "orphaned_kv.unclaimed"},
        ("5m", "60m"),
    ),
    Case(
        "PdscopeReservationsGrow",
        {'pdscope_kv_orphans{pool="decode"}': "0x5 0+5x30 0x40"},
        "25m",
        {"severity": "ticket", "pool": "decode", "cause": "orphaned_kv.reserved_never_filled"},
        ("5m", "60m"),
    ),
    Case(
        "PdscopeLeaseTooShort",
        {
            'pdscope_kv_handoffs_recent{pool="prefill"}': "100x60",
            'pdscope_kv_handoffs_expired_recent{pool="prefill"}': "0x4 7x20 0x35",
        },
        "15m",
        {
            "severity": "ticket",
            "pool": "prefill",
            "cause": "orphaned_kv.expired_before_read",
            "finding": "lease_too_short",
        },
        ("4m", "40m"),
    ),
    Case(
        "PdscopeLateKvReads",
        {'pdscope_kv_late_reads_recent{pool="prefill"}': "0x4 1x20 0x35"},
        "10m",
        {
            "severity": "page",
            "pool": "prefill",
            "cause": "orphaned_kv.expired_before_read",
            "finding": "stale_kv_read_risk",
        },
        ("4m", "40m"),
    ),
    Case(
        "PdscopeNoProgress",
        {
            'pdscope_pool_queue_requests{pool="decode",model="m"}': "3x60",
            'pdscope_pool_generated_tokens_per_second{pool="decode",model="m"}': "50x4 0x20 50x35",
        },
        "10m",
        {"severity": "page", "pool": "decode", "model": "m", "finding": "no_progress_while_healthy"},
        ("4m", "40m"),
    ),
    Case(
        "PdscopeRequestsStuck",
        {
            'pdscope_oldest_request_age_seconds{pool="router",model="m"}': "3x4 50x20 3x35",
            'pdscope_slo_ttft_limit_seconds{slo="default"}': "2x60",
        },
        "10m",
        {"severity": "ticket", "pool": "router", "model": "m"},
        ("4m", "40m"),
    ),
    Case(
        "PdscopeDown",
        {'up{job="pdscope",instance="a"}': "1x4 0x20 1x35"},
        "10m",
        {"severity": "page", "job": "pdscope", "instance": "a"},
        ("4m", "40m"),
    ),
    Case(
        "PdscopeNoTelemetry",
        {'pdscope_received_spans_total{transport="grpc"}': "0+60x20 1200x30 1200+60x30"},
        "45m",
        {"severity": "ticket"},
        ("15m", "70m"),
    ),
    Case(
        "PdscopeTelemetryRefused",
        {
            'pdscope_received_spans_total{transport="grpc"}': "0+600x120",
            'pdscope_refused_spans_total{reason="bad_trace_id"}': "0x5 0+60x30 1800x80",
        },
        "30m",
        {"severity": "ticket", "reason": "bad_trace_id"},
        ("5m", "60m"),
    ),
    Case(
        "PdscopeBehind",
        {"pdscope_assembly_lag_inserts": "0x4 5000x20 0x35"},
        "15m",
        {"severity": "ticket"},
        ("4m", "40m"),
    ),
)
