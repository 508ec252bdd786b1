"""Does the hand-off leave enough of TTFT? A gate on a conservative estimate, before any simulation counts."""

from dataclasses import dataclass

import numpy as np

from analyzer.plan.errors import BadPlan
from analyzer.plan.layout import Settings
from analyzer.plan.workload import Workload

RESERVE = 0.5
"""Part of the envelope that must be left for queues, by default."""


@dataclass(frozen=True, slots=True)
class TransferBudget:
    """What the p95 prompt's hand-off takes of the time its prefill leaves of the TTFT objective.

    Conservative: nothing overlaps, at the slowest rate known. `left` share of the envelope that remains.
    """

    prompt_tokens: int
    bytes_per_s: float
    prefill_s: float
    transfer_s: float
    envelope_s: float
    reserve: float

    @property
    def left(self) -> float:
        """Share of the envelope that the hand-off leaves; below 0 when it does not fit at all."""
        if self.envelope_s <= 0:
            return -1.0
        return 1 - self.transfer_s / self.envelope_s

    @property
    def refused(self) -> str | None:
        """Why pools should not be split on this link; None when enough is left."""
        if self.left >= self.reserve:
            return None
        return (
            f"transfer budget: handing over a p95 prompt of {self.prompt_tokens:,} tokens takes "
            f"{self.transfer_s:.3g} s of the {max(self.envelope_s, 0):.3g} s its prefill leaves of the TTFT "
            f"objective, so {max(self.left, 0):.0%} are left; {self.reserve:.0%} must be"
        )


def transfer_budget(
    workload: Workload, settings: Settings, ttft_s: float, slowest: float | None, reserve: float = RESERVE
) -> TransferBudget:
    """The budget of `workload`; `slowest` is the conservative rate in bytes/s, None: the effective one."""
    if not 0 <= reserve < 1:
        raise BadPlan(f"transfer reserve is {reserve}; it must be 0 or more and below 1")
    transfer, model = settings.transfer, settings.model
    rate = transfer.link.effective_bytes_per_s if slowest is None else slowest
    tokens = int(np.quantile(workload.columns.prompt, 0.95))
    prefill = model.step_s(0, float(np.quantile(workload.columns.uncached, 0.95)))
    seconds = transfer.overhead_s + tokens * transfer.bytes_per_token / rate
    return TransferBudget(tokens, rate, prefill, seconds, ttft_s - prefill, reserve)
