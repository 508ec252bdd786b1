"""The declared reference cell: Llama 3 70B on 8 x H100 instances, and the settings that go with it."""

from analyzer.plan.kv_cost import Link, Transfer
from analyzer.plan.layout import Settings
from analyzer.plan.plain_loop import Constants
from analyzer.plan.step_model import LLAMA3_70B_KV_BYTES, llama3_70b_on_h100
from analyzer.plan.workload import Workload

TRANSFER = Transfer(LLAMA3_70B_KV_BYTES, layers=80, link=Link(8, 50e9, 0.8))
EXACT = Settings(llama3_70b_on_h100(), TRANSFER)
REFERENCE = Settings(llama3_70b_on_h100(), TRANSFER, exact=False)


def constants(settings: Settings) -> Constants:
    """The same for the plain loop."""
    model, transfer = settings.model, settings.transfer
    return Constants(
        model.weights_s,
        model.context_s_per_token,
        model.compute_s_per_token,
        model.overhead_s,
        transfer.seconds_per_token,
        transfer.overhead_s,
        transfer.layers,
        transfer.overlap,
        settings.max_seqs,
        settings.exact,
    )


def rows(workload: Workload) -> list[tuple[float, int, int, int]]:
    """A workload as the plain loop takes it."""
    return list(zip(workload.arrival_s, workload.prompt, workload.output, workload.cached, strict=True))
