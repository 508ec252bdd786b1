"""Write a topology receipt: what was assumed, what was tried, what came out, in a form others can check."""

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from math import inf
from typing import Any

import numpy as np

from analyzer.plan.errors import BadPlan
from analyzer.plan.evaluate import Contract, Evaluation
from analyzer.plan.headline import headline, matrix_text
from analyzer.plan.layout import Colocated, Layout, Settings
from analyzer.plan.provenance import Input, Label
from analyzer.plan.receipt_model import SCHEMA, Receipt
from analyzer.plan.requests_file import SUFFIX, RequestsFile
from analyzer.plan.workload import Synthetic, Workload

BUCKET_EDGES = (0, 512, 2048, 8192, 32_768)
"""Prompt lengths that separate the workload buckets; the last one is open."""

FALLBACK = [
    "colocate when the prefill pool, the decode pool or the link between them is lost",
    "recompute the prompt on decode when its KV has not arrived within the TTFT objective",
    "plan again when observed token rates leave the p95 demand of this receipt",
]

STEP_INPUTS = ("step_weights_s", "step_context_s_per_token", "step_compute_s_per_token", "step_overhead_s")
LINK_INPUTS = ("layers", "nics", "nic_bytes_per_s", "link_efficiency", "transfer_overhead_s")
NEEDED_INPUTS = (*STEP_INPUTS, *LINK_INPUTS, "kv_bytes_per_token", "accelerators_per_instance")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a workload can be had again: see the three kinds of source in receipt_model."""

    fields: dict[str, Any]
    arrivals: float = 1.0
    """How many times as fast requests arrive."""

    def denser(self, factor: float) -> "Source":
        """The same, `factor` times as fast."""
        return Source(self.fields, self.arrivals * factor)

    @staticmethod
    def synthetic(spec: Synthetic) -> "Source":
        """A seeded workload."""
        return Source({"kind": "synthetic", **asdict(spec)})

    @staticmethod
    def trace(file: str, content: bytes, prefix_cache: bool) -> "Source":
        """A trace file, by name and digest of its `content`."""
        digest = hashlib.sha256(content).hexdigest()
        return Source({"kind": "trace", "file": file, "sha256": digest, "prefix_cache": prefix_cache})

    @staticmethod
    def stored(query: str, window: str, carried: RequestsFile) -> "Source":
        """Requests read from a store; `carried`: the file of them, for who has no such store."""
        requests = {"suffix": SUFFIX, "rows": carried.rows, "sha256": carried.sha256}
        return Source({"kind": "stored", "query": query, "window": window, "requests": requests})


def build_receipt(
    evaluations: Sequence[Evaluation],
    workloads: Sequence[tuple[Workload, Source]],
    settings: Settings,
    contract: Contract,
    inputs: Sequence[Input],
    written_at: str,
    advice: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], str]:
    """The receipt, sealed, and its CSV matrix. `advice`: what a what-if adds, see receipt_advice.

    `inputs` must hold NEEDED_INPUTS, which the settings were made from. BadPlan when one is missing or no
    longer agrees with the settings.
    """
    named = {item.name: item for item in inputs}
    if missing := [name for name in NEEDED_INPUTS if name not in named]:
        raise BadPlan(f"a receipt needs the provenance of {', '.join(missing)}")
    _same_inputs(named, settings)
    accelerators = int(named["accelerators_per_instance"].value)
    names = [workload.origin for workload, _ in workloads]
    if len(set(names)) != len(names):
        raise BadPlan("two workloads of a receipt have the same name")
    scenarios = [_scenario(k, evaluation, accelerators) for k, evaluation in enumerate(evaluations, start=1)]
    matrix = matrix_text(scenarios)
    receipt: dict[str, Any] = {
        "schema_version": SCHEMA,
        "label": str(Label.MODELLED),
        "written_at": written_at,
        "versions": {
            "pdscope": _version(), "python": platform.python_version(), "numpy": np.__version__,
        },
        "contract": {
            **asdict(contract.objective),
            "attainment": contract.attainment,
            "utilisation_ceiling": contract.ceiling,
            "window_start_s": contract.window.start_s,
            "window_end_s": contract.window.end_s,
        },
        "settings": _settings(settings),
        "inputs": {name: _input(item) for name, item in sorted(named.items())},
        "kv": _kv(settings),
        "workloads": [_workload(workload, source) for workload, source in workloads],
        "scenarios": scenarios,
        "rejected": [
            {"scenario": s["id"], "reasons": s["reasons"]} for s in scenarios if not s["accepted"]
        ],
        "fallback": FALLBACK,
        "headline": headline(scenarios),
        **(advice or {}),
        "matrix": {"rows": len(scenarios), "sha256": hashlib.sha256(matrix.encode()).hexdigest()},
    }  # fmt: skip
    receipt["digest"] = digest(receipt)
    Receipt.model_validate(receipt)
    return receipt, matrix


def digest(receipt: dict[str, Any]) -> str:
    """SHA-256 of the receipt without its digest, as JSON with sorted keys and no spaces."""
    body = {key: value for key, value in receipt.items() if key != "digest"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def schema_text() -> str:
    """The published JSON Schema, as in `receipt_schema.json`."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Receipt.model_json_schema()}
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def _version() -> str:
    try:
        return version("pdscope")
    except PackageNotFoundError:
        return "source"


def _same_inputs(named: dict[str, Input], settings: Settings) -> None:
    model, transfer = settings.model, settings.transfer
    used = {
        "step_weights_s": model.weights_s,
        "step_context_s_per_token": model.context_s_per_token,
        "step_compute_s_per_token": model.compute_s_per_token,
        "step_overhead_s": model.overhead_s,
        "layers": transfer.layers,
        "nics": transfer.link.nics,
        "nic_bytes_per_s": transfer.link.nic_bytes_per_s,
        "link_efficiency": transfer.link.efficiency,
        "transfer_overhead_s": transfer.overhead_s,
        "kv_bytes_per_token": transfer.bytes_per_token,
    }
    for name, value in used.items():
        if named[name].value != value:
            raise BadPlan(f"input {name} is {named[name].value!r}, the simulation used {value!r}")


def _input(item: Input) -> dict[str, Any]:
    out: dict[str, Any] = {"label": str(item.label), "value": float(item.value), "unit": item.unit}
    if item.label is Label.OBSERVED:
        return {**out, "query": item.origin, "window": item.window}
    return {**out, "by" if item.label is Label.SUPPLIED else "formula": item.origin}


def _finite(value: float) -> float | None:
    return None if value == inf else value


def _settings(settings: Settings) -> dict[str, Any]:
    return {
        "max_seqs": settings.max_seqs,
        "kv_tokens": _finite(settings.kv_tokens),
        "routing": str(settings.routing),
        "lease_s": _finite(settings.lease_s),
        "retries": settings.retries,
        "retry_after_s": settings.retry_after_s,
        "losses": len(settings.losses),
        "exact_context": settings.exact,
        "overlap": settings.transfer.overlap,
    }


def _kv(settings: Settings) -> dict[str, float]:
    transfer, prefill = settings.transfer, settings.model.compute_s_per_token
    return {
        "bytes_per_token": transfer.bytes_per_token,
        "peak_bytes_per_s": transfer.link.peak_bytes_per_s,
        "effective_bytes_per_s": transfer.link.effective_bytes_per_s,
        "transfer_overhead_s": transfer.overhead_s,
        "transfer_s_per_token": transfer.seconds_per_token,
        "prefill_s_per_token": prefill,
        "transfer_to_recompute": transfer.seconds_per_token / prefill,
    }


def _workload(workload: Workload, source: Source) -> dict[str, Any]:
    prompt, output = np.array(workload.prompt), np.array(workload.output)
    buckets = []
    for low, high in zip(BUCKET_EDGES, (*BUCKET_EDGES[1:], None), strict=True):
        inside = (prompt > low) & (prompt <= (high or np.inf))
        some = bool(inside.any())
        buckets.append(
            {
                "prompt_above": low,
                "prompt_to": high,
                "requests": int(inside.sum()),
                "mean_prompt": float(prompt[inside].mean()) if some else None,
                "mean_output": float(output[inside].mean()) if some else None,
            }
        )
    span = workload.span_s
    return {
        "name": workload.origin,
        "label": str(workload.label),
        "source": source.fields,
        "arrivals": source.arrivals,
        "requests": len(workload),
        "requests_per_s": len(workload) / span,
        "uncached_tokens_per_s": sum(workload.uncached()) / span,
        "output_tokens_per_s": sum(workload.output) / span,
        "mean_prompt": float(prompt.mean()),
        "mean_output": float(output.mean()),
        "buckets": buckets,
    }


def layout_part(layout: Layout, accelerators: int) -> dict[str, Any]:
    """A layout taken apart, as receipts hold it."""
    one = isinstance(layout, Colocated)
    return {
        "kind": "colocated" if one else "disaggregated",
        "name": layout.name,
        "workers": layout.workers,
        "prefill": None if isinstance(layout, Colocated) else layout.prefill,
        "decode": None if isinstance(layout, Colocated) else layout.decode,
        "step_budget": layout.chunk if isinstance(layout, Colocated) else layout.prefill_budget,
        "accelerators": layout.workers * accelerators,
    }


def _scenario(number: int, evaluation: Evaluation, accelerators: int) -> dict[str, Any]:
    result = asdict(evaluation.figures)
    result |= {"label": str(result["label"]), "by_prompt": list(result["by_prompt"])}
    return {
        "id": f"s{number}",
        "layout": layout_part(evaluation.layout, accelerators),
        "workload": evaluation.workload,
        "queues": [
            {
                "name": str(queue.name),
                "moment": check.moment,
                "unit": queue.unit,
                "offered_per_s": queue.offered_per_s,
                "service_per_s": queue.service_per_s,
                "utilisation": _finite(queue.utilisation),
            }
            for check in evaluation.checks
            for queue in check.queues
        ],
        "result": result,
        "accepted": evaluation.accepted,
        "reasons": list(evaluation.reasons),
    }
