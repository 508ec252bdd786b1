"""Whether both paths can be watched, and left again, for each model and tenant."""

import numpy as np

from analyzer.gate.check import Check, Fact, not_shown, shown
from analyzer.gate.cohort import Cohort
from analyzer.gate.evidence import Evidence

NEARLY_ALL = 0.95
LABELS = ("model", "tenant")


def observable(e: Evidence) -> Check:
    """Both paths leave whole timelines for every model and tenant they serve."""
    line, title = "both_paths_observable", "Both paths are observable per model and tenant"
    poor = []
    facts: dict[str, Fact] = {}
    for side, cohort in (("baseline", e.baseline), ("candidate", e.candidate)):
        for by in LABELS:
            for key, share in _whole(cohort, by).items():
                facts[f"{side}.{by}.{key or 'not named'}"] = round(share, 4)
                if key is None or share < NEARLY_ALL:
                    poor.append(f"{side} {by} {key or 'not named'}")
    if not facts or poor:
        return not_shown(
            line, title, f"too few whole timelines of {', '.join(poor[:8]) or 'anything'}", facts
        )
    return shown(line, title, True, f"timelines are whole for {len(facts)} models and tenants", facts)


def _whole(cohort: Cohort, by: str) -> dict[str | None, float]:
    exposed = np.isfinite(cohort.situation.requests.exposed[:, 0])
    return {key: float(exposed[rows].mean()) for key, rows in cohort.members(by).items()}


def revertible(e: Evidence) -> Check:
    """Every model and tenant of the candidate was served by the baseline again afterwards, or meanwhile."""
    line, title = "both_paths_revertible", "Both paths are revertible per model and tenant"
    stuck = []
    facts: dict[str, Fact] = {}
    for by in LABELS:
        ours, theirs = (_starts(cohort, by) for cohort in (e.baseline, e.candidate))
        for key, (first, _) in theirs.items():
            back = key in ours and ours[key][1] > first
            facts[f"{by}.{key or 'not named'}"] = (
                "served by the baseline since" if back else "not switched back"
            )
            if not back:
                stuck.append(f"{by} {key or 'not named'}")
    if stuck or not facts:
        return not_shown(
            line, title, f"no switch back was seen of {', '.join(stuck[:8]) or 'anything'}", facts
        )
    return shown(line, title, True, "the baseline served each of them after the candidate had", facts)


def _starts(cohort: Cohort, by: str) -> dict[str | None, tuple[float, float]]:
    """First and last start of each label's requests, Unix seconds."""
    origin, r = cohort.situation.loaded.origin_ns / 1e9, cohort.situation.requests
    return {
        key: (origin + float(r.start[rows].min()), origin + float(r.start[rows].max()))
        for key, rows in cohort.members(by).items()
    }
