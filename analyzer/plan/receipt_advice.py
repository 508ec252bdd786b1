"""What a what-if adds to a receipt: transfer budget, recommendation, degraded modes, what it is fitted to."""

from dataclasses import asdict
from typing import Any

from analyzer.plan.document import Fitted
from analyzer.plan.provenance import Label
from analyzer.plan.receipt import layout_part
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


def fitted_to(fitted: Fitted, accelerators: int) -> dict[str, Any]:
    """The part `calibration`: what the replay of the window is held to when the receipt is verified."""
    found = fitted.replay
    return {
        "calibration": {
            "label": str(Label.OBSERVED),
            "served": layout_part(fitted.calibration.served, accelerators),
            "measured": found.measured,
            "attainment": found["attainment"].measured,
            "ttft50_s": found["ttft50"].measured,
            "tpot50_s": found["tpot50"].measured,
        }
    }
