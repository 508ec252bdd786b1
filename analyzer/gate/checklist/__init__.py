"""The rollout checklist: each line is answered by data, or said not to be."""

from analyzer.gate.check import Check
from analyzer.gate.checklist import likeness, paths, planning, recovery, traffic, transfer
from analyzer.gate.evidence import Evidence


def checklist(evidence: Evidence) -> list[Check]:
    """Every line, in the order in which a rollout is argued."""
    return [
        planning.interference(evidence),
        planning.chunked_prefill_tried(evidence),
        planning.routing_tried(evidence),
        likeness.pinned_and_equal(evidence),
        likeness.connector_pinned(evidence),
        transfer.measured(evidence),
        likeness.equal_hardware(evidence),
        planning.pools_sized(evidence),
        traffic.multi_turn(evidence),
        traffic.deadlines_carried(evidence),
        traffic.cancellation_carried(evidence),
        traffic.identity_carried(evidence),
        *recovery.kv_released(evidence),
        recovery.orphans_bounded(evidence),
        traffic.counted(evidence),
        traffic.ttft_by_label(evidence),
        traffic.percentiles_apart(evidence),
        planning.mixed_stress(evidence),
        planning.ratio_sweep(evidence),
        recovery.decode_failure_leaks_nothing(evidence),
        recovery.restarts(evidence),
        paths.observable(evidence),
        paths.revertible(evidence),
    ]


LINES = (
    *("interference", "chunked_prefill_tried", "routing_tried", "pinned_and_equal", "connector_pinned"),
    *("kv_measured", "equal_hardware", "pools_sized", "multi_turn", "deadlines_carried"),
    *("cancellation_carried", "identity_carried", "released_after_success", "released_after_cancel"),
    *("released_after_timeout", "released_after_crash", "orphans_bounded", "failures_counted"),
    *("ttft_by_label", "percentiles_apart", "mixed_stress", "ratio_sweep"),
    *("decode_failure_leaks_nothing", "restarts", "both_paths_observable", "both_paths_revertible"),
)
"""Names of the lines, in order."""
