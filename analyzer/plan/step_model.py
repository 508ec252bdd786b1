"""How long one engine step takes: the larger of memory time and compute time, plus a fixed overhead.

A roofline (Williams, Waterman, Patterson, CACM 52(4), 2009) of one forward pass. Every step reads the
weights once and the KV of its context once; every token of the step costs two FLOP per parameter.
Attention's own FLOPs (quadratic in the prompt) are left out.
"""

from dataclasses import dataclass

from analyzer.plan.errors import BadPlan, need_not_negative, need_positive
from analyzer.plan.provenance import Input, Label


@dataclass(frozen=True, slots=True)
class StepModel:
    """Seconds of one step: max(weights_s + context_s·context, compute_s·tokens) + overhead_s.

    `context` counts the KV tokens read in the step, `tokens` the tokens computed in it.
    `label` is `supplied` for declared constants, `derived` for a fit to measured steps.
    """

    weights_s: float
    context_s_per_token: float
    compute_s_per_token: float
    overhead_s: float
    label: Label = Label.SUPPLIED
    origin: str = "declared constants"

    def __post_init__(self) -> None:
        need_positive("step model: weights_s", self.weights_s)
        need_positive("step model: context_s_per_token", self.context_s_per_token)
        need_positive("step model: compute_s_per_token", self.compute_s_per_token)
        need_not_negative("step model: overhead_s", self.overhead_s)

    def step_s(self, context_tokens: float, tokens: float) -> float:
        """Seconds of one step that reads `context_tokens` of KV and computes `tokens`."""
        memory = self.weights_s + self.context_s_per_token * context_tokens
        return max(memory, self.compute_s_per_token * tokens) + self.overhead_s


@dataclass(frozen=True, slots=True)
class Hardware:
    """One serving instance, as declared: accelerators that share a model by tensor parallelism.

    `memory_bytes_per_s` and `flop_per_s` are per accelerator and are what is reached, not the peak.
    """

    accelerators: int
    memory_bytes_per_s: float
    flop_per_s: float
    overhead_s: float
    memory_bytes: float

    def __post_init__(self) -> None:
        if self.accelerators < 1:
            raise BadPlan(f"accelerators per instance is {self.accelerators}; it must be at least 1")
        need_positive("memory_bytes_per_s", self.memory_bytes_per_s)
        need_positive("flop_per_s", self.flop_per_s)
        need_positive("memory_bytes", self.memory_bytes)
        need_not_negative("overhead_s", self.overhead_s)

    def step_model(self, weight_bytes: float, kv_bytes_per_token: float, parameters: float) -> StepModel:
        """The step model of a dense model on this instance.

        `weight_bytes` of all weights, `kv_bytes_per_token` of all layers and heads, `parameters` active
        per token; each is split evenly over the accelerators.
        """
        n = self.accelerators
        return StepModel(
            weights_s=need_positive("weight_bytes", weight_bytes) / n / self.memory_bytes_per_s,
            context_s_per_token=need_positive("kv_bytes_per_token", kv_bytes_per_token)
            / n
            / self.memory_bytes_per_s,
            compute_s_per_token=2 * need_positive("parameters", parameters) / n / self.flop_per_s,
            overhead_s=self.overhead_s,
        )

    def inputs(self, by: str) -> list[Input]:
        """The declared constants as labelled inputs, supplied by `by`."""
        rows = [
            ("accelerators_per_instance", self.accelerators, "accelerators"),
            ("memory_bytes_per_s", self.memory_bytes_per_s, "B/s per accelerator"),
            ("flop_per_s", self.flop_per_s, "FLOP/s per accelerator"),
            ("step_overhead_s", self.overhead_s, "s"),
            ("memory_bytes", self.memory_bytes, "B per accelerator"),
        ]
        return [Input(name, value, unit, Label.SUPPLIED, by) for name, value, unit in rows]


H100_X8 = Hardware(
    accelerators=8, memory_bytes_per_s=3.35e12, flop_per_s=600e12, overhead_s=0.8e-3, memory_bytes=80e9
)
"""Eight H100 SXM: 3.35 TB/s HBM3 each (data sheet), 600 of 989 dense BF16 TFLOP/s taken as reached."""

LLAMA3_70B_WEIGHT_BYTES = 141e9
LLAMA3_70B_PARAMETERS = 70.6e9
LLAMA3_70B_KV_BYTES = 2 * 80 * 8 * 128 * 2
"""Llama 3 70B in BF16: weights on disk, parameters, and K and V of 80 layers x 8 KV heads x 128 values."""


def llama3_70b_on_h100() -> StepModel:
    """The declared reference: Llama 3 70B in BF16 on one 8 x H100 instance."""
    return H100_X8.step_model(LLAMA3_70B_WEIGHT_BYTES, LLAMA3_70B_KV_BYTES, LLAMA3_70B_PARAMETERS)
