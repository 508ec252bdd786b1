"""What a what-if adds to a receipt: the transfer budget, the recommendation, and degraded modes."""

from dataclasses import asdict
from typing import Any

from analyzer.plan.whatif import Answer


def advice(answer: Answer) -> dict[str, Any]:
    """The parts `transfer_budget`, `recommendation` and `degraded` of a receipt."""
    budget, chosen, plan = answer.plan.budget, answer.recommendation, answer.plan
    return {
        "transfer_budget": {**asdict(budget), "left": budget.left, "refused": budget.refused},
        "recommendation": {
            "label": str(chosen.label),
            "layout": chosen.layout.name if chosen.layout else None,
            "headroom": plan.grid.headroom,
            "served": plan.served.name if plan.served else None,
            "statement": chosen.statement,
            "considered": list(chosen.considered),
            "lanes": [{**asdict(lane), "change": lane.change} for lane in chosen.lanes],
        },
        "degraded": [
            {
                "layout": failure.layout.name,
                "mode": str(failure.mode),
                "serves": failure.serves.name,
                "measured": failure.figures.measured,
                "met_count": failure.figures.met_count,
            }
            for failure in answer.failures
        ],
    }
