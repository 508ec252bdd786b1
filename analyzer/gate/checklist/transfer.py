"""Whether the hand-off itself was measured."""

import numpy as np

from analyzer.gate.check import Check, Fact, not_shown, shown
from analyzer.gate.estimate import LEAST
from analyzer.gate.evidence import Evidence

NEARLY_ALL = 0.9


def measured(e: Evidence) -> Check:
    """Bytes, effective bandwidth and transfer time are known of nearly every hand-off."""
    line, title = "kv_measured", "KV bytes, effective bandwidth and transfer time are measured"
    t, rows = e.candidate.situation.transfers, e.candidate.hand_offs
    took, size = t.seconds[rows], t.bytes[rows]
    both = np.isfinite(took) & np.isfinite(size) & (size > 0)
    facts: dict[str, Fact] = {"hand_offs": len(rows), "measured": int(both.sum())}
    if len(rows) < LEAST or both.mean() < NEARLY_ALL:
        share = f"{both.mean():.0%} of {len(rows)}" if len(rows) else "none"
        return not_shown(line, title, f"time and bytes are known of {share} hand-offs", facts)
    rate = size[both] / took[both] / 1e9
    p50, p95 = np.quantile(took[both], (0.5, 0.95))
    facts |= {"bytes_p50": float(np.median(size[both])), "gb_s_p50": float(np.median(rate))}
    facts |= {"seconds_p50": float(p50), "seconds_p95": float(p95)}
    answer = (
        f"{len(rows)} hand-offs: {np.median(size[both]) / 1e6:,.3g} MB at {np.median(rate):.3g} GB/s (p50), "
    )
    return shown(line, title, True, f"{answer}{p50 * 1e3:.3g} ms (p50), {p95 * 1e3:.3g} ms (p95)", facts)
