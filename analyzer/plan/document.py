"""A what-if as one JSON document: what REST answers, the page shows, plots draw and the command prints."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

import numpy as np

from analyzer.plan.calibrate_requests import Calibration
from analyzer.plan.compare import Comparison
from analyzer.plan.evaluate import Contract, Evaluation
from analyzer.plan.layout import Colocated, Layout
from analyzer.plan.one_request import Path
from analyzer.plan.outcome import Figures
from analyzer.plan.provenance import Input, Label
from analyzer.plan.whatif import Answer
from analyzer.plan.workload import Workload

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A calibration and how well it gives back the window it was fitted to."""

    calibration: Calibration
    replay: Comparison


def document(
    answer: Answer, fitted: Fitted | None, inputs: Sequence[Input], accelerators: int,
    shown: tuple[int, Sequence[Path]],
) -> Json:  # fmt: skip
    """The whole answer. `shown`: a request (its row) and its path under layouts."""
    plan = answer.plan
    chosen = answer.recommendation
    workload = plan.workloads[0]
    row, found = shown
    return {
        "label": str(Label.MODELLED),
        "workload": workload_part(workload),
        "contract": contract_part(plan.contract, plan.grid.headroom),
        "served": plan.served.name if plan.served else None,
        "refused": None,
        "calibration": calibration_part(fitted) if fitted else None,
        "recommendation": {
            "layout": chosen.layout.name if chosen.layout else None,
            "accelerators": chosen.layout.workers * accelerators if chosen.layout else None,
            "statement": chosen.statement,
            "considered": list(chosen.considered),
            "lanes": [{**asdict(lane), "change": lane.change} for lane in chosen.lanes],
            "rejected": [{"layout": r.layout.name, "reasons": list(r.reasons)} for r in chosen.rejected],
        },
        "signals": [{**asdict(signal), "label": str(signal.label)} for signal in answer.signals],
        "transfer_budget": {
            **asdict(plan.budget), "left": plan.budget.left, "refused": plan.budget.refused,
        },
        "scenarios": [
            scenario_part(e, plan.workloads, plan.contract, accelerators) for e in answer.evaluations
        ],
        "degraded": [
            {"layout": f.layout.name, "mode": str(f.mode), "serves": f.serves.name, **figures_part(f.figures)}
            for f in answer.failures
        ],
        "one_request": {
            "prompt": workload.prompt[row], "cached": workload.cached[row], "output": workload.output[row],
            "paths": [
                {
                    "layout": path.layout.name, "ttft_s": path.ttft_s,
                    "parts": [asdict(part) for part in path.parts],
                }
                for path in found
            ],
        },
        "inputs": [{**asdict(item), "label": str(item.label)} for item in inputs],
    }  # fmt: skip


def refusal(workload: Workload, contract: Contract, headroom: float, why: str) -> Json:
    """The document of a what-if that must not recommend anything: the model does not fit."""
    return {
        "label": str(Label.MODELLED),
        "workload": workload_part(workload),
        "contract": contract_part(contract, headroom),
        **dict.fromkeys(("served", "calibration", "recommendation", "transfer_budget", "one_request")),
        "refused": why,
        **{name: [] for name in ("signals", "scenarios", "degraded", "inputs")},
    }


def workload_part(workload: Workload) -> Json:
    """Counts, rates and lengths of the offered traffic."""
    columns = workload.columns
    cached = 1 - float(columns.uncached.sum() / columns.prompt.sum())
    return {
        "name": workload.origin,
        "label": str(workload.label),
        "requests": len(workload),
        "span_s": workload.span_s,
        "requests_per_s": len(workload) / workload.span_s if workload.span_s else None,
        "mean_prompt": float(np.mean(columns.prompt)),
        "mean_output": float(np.mean(columns.output)),
        "cached_share": cached,
    }


def contract_part(contract: Contract, headroom: float) -> Json:
    """What a layout must reach."""
    return {
        **asdict(contract.objective),
        "attainment": contract.attainment,
        "utilisation_ceiling": contract.ceiling,
        "headroom": headroom,
    }


def calibration_part(fitted: Fitted) -> Json:
    """The fitted constants, and the replay of the window they were fitted to."""
    c = fitted.calibration
    model, transfer = c.settings.model, c.settings.transfer
    return {
        "label": str(model.label),
        "served": c.served.name,
        "step": {
            "weights_s": model.weights_s,
            "context_s_per_token": model.context_s_per_token,
            "compute_s_per_token": model.compute_s_per_token,
            "overhead_s": model.overhead_s,
        },
        "transfer": {
            "bytes_per_token": transfer.bytes_per_token,
            "bytes_per_s": transfer.link.effective_bytes_per_s,
            "overhead_s": transfer.overhead_s,
        },
        "errors": [asdict(error) for error in c.errors],
        "replay": comparison_part(fitted.replay),
        "notes": list(c.notes),
    }


def comparison_part(found: Comparison) -> Json:
    """Predicted beside measured."""
    return {
        "layout": found.layout.name,
        "measured": found.measured,
        "figures": [{**asdict(figure), "error": figure.error} for figure in found.figures],
        "faults": found.faults,
    }


def figures_part(figures: Figures) -> Json:
    """Simulated figures."""
    shown = asdict(figures)
    del shown["by_prompt"]  # in the receipt, for the gate
    return {**shown, "label": str(figures.label), "met": figures.met}


def layout_part(layout: Layout, accelerators: int) -> Json:
    """A layout taken apart."""
    one = isinstance(layout, Colocated)
    return {
        "layout": layout.name,
        "kind": "colocated" if one else "disaggregated",
        "workers": layout.workers,
        "prefill": None if isinstance(layout, Colocated) else layout.prefill,
        "decode": None if isinstance(layout, Colocated) else layout.decode,
        "chunk": layout.chunk if isinstance(layout, Colocated) else None,
        "accelerators": layout.workers * accelerators,
    }


def scenario_part(
    evaluation: Evaluation, workloads: Sequence[Workload], contract: Contract, accelerators: int
) -> Json:
    """One layout under one workload; goodput: requests within both objectives per second of arrivals."""
    denser = workloads[0].span_s / _of(evaluation, workloads).span_s
    window = (contract.window.end_s - contract.window.start_s) / denser
    return {
        **layout_part(evaluation.layout, accelerators),
        "arrivals": denser,
        **figures_part(evaluation.figures),
        "goodput_rps": evaluation.figures.met_count / window,
        "accepted": evaluation.accepted,
        "reasons": list(evaluation.reasons),
        "queues": [
            {
                "name": queue.name,
                "moment": check.moment,
                "utilisation": None if queue.utilisation == inf else queue.utilisation,
            }
            for check in evaluation.checks
            for queue in check.queues
        ],
    }


def _of(evaluation: Evaluation, workloads: Sequence[Workload]) -> Workload:
    return next(workload for workload in workloads if workload.origin == evaluation.workload)
