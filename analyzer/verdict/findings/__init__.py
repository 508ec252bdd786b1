"""Facts about the fleet and the telemetry of a window."""

from analyzer.verdict.attribution import Attribution
from analyzer.verdict.findings import fleet, hand_offs, identity, metrics, spans, traffic
from analyzer.verdict.findings.finding import Check, Finding
from analyzer.verdict.situation import Situation

CHECKS: tuple[Check, ...] = (
    hand_offs.stale_kv_read_risk,
    hand_offs.lease_too_short,
    hand_offs.lease_not_enforced,
    hand_offs.failed_transfers,
    hand_offs.redundant_transfer,
    hand_offs.no_transfers_observed,
    fleet.decode_crash,
    fleet.no_progress_while_healthy,
    fleet.idle_pool,
    fleet.path_specific,
    fleet.prealloc_backpressure,
    fleet.compatibility_mismatch,
    identity.trace_split,
    identity.id_mismatch,
    identity.request_id_collision,
    spans.late_spans,
    spans.duplicate_records,
    spans.unattributed_gap,
    spans.clock_skew,
    spans.span_nesting_quirk,
    spans.impossible_duration,
    spans.router_span_unreliable,
    metrics.ttft_definition_mismatch,
    metrics.metric_blind_spot,
    metrics.metric_counts_wrong_work,
    metrics.impossible_rate,
    metrics.metric_window_mismatch,
    metrics.metric_dead,
    metrics.histogram_saturated,
    traffic.success_status_masks_failure,
    traffic.abort_storm,
    traffic.baseline_drift,
)


def find(s: Situation, found: Attribution) -> list[Finding]:
    """All findings that hold."""
    return [item for check in CHECKS if (item := check(s, found)) is not None]


__all__ = ["CHECKS", "Finding", "find"]
