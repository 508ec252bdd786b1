"""The KV arithmetic and the step constants of a receipt, worked out again from its inputs."""

from math import isclose

from analyzer.plan.findings import Findings
from analyzer.plan.plain_loop import Constants
from analyzer.plan.receipt_model import Receipt

NEEDED = (
    "step_weights_s",
    "step_context_s_per_token",
    "step_compute_s_per_token",
    "step_overhead_s",
    "layers",
    "nics",
    "nic_bytes_per_s",
    "link_efficiency",
    "transfer_overhead_s",
    "kv_bytes_per_token",
    "accelerators_per_instance",
)


def check_inputs(receipt: Receipt, findings: Findings) -> Constants | None:
    """The constants of the model, with the KV arithmetic worked out again."""
    value = {name: item.value for name, item in receipt.inputs.items()}
    if missing := [name for name in NEEDED if name not in value]:
        findings.problems.append(f"inputs: {', '.join(missing)} missing; nothing can be checked")
        return None
    if bad := [name for name in NEEDED if value[name] <= 0 and not name.endswith("overhead_s")]:
        findings.problems.append(f"inputs: {', '.join(bad)} must be above 0")
        return None
    kv = receipt.kv
    peak = value["nics"] * value["nic_bytes_per_s"]
    effective = peak * value["link_efficiency"]
    stands_in = isclose(kv.effective_bytes_per_s, peak) and not isclose(peak, effective)
    hint = "; the peak stands where the effective bandwidth belongs" if stands_in else ""
    wire = value["kv_bytes_per_token"] / effective
    compute = value["step_compute_s_per_token"]
    findings.same("kv.bytes_per_token", kv.bytes_per_token, value["kv_bytes_per_token"])
    findings.same("kv.peak_bytes_per_s", kv.peak_bytes_per_s, peak)
    findings.same("kv.effective_bytes_per_s", kv.effective_bytes_per_s, effective, hint)
    findings.same("kv.transfer_s_per_token", kv.transfer_s_per_token, wire, hint)
    findings.same("kv.prefill_s_per_token", kv.prefill_s_per_token, compute)
    findings.same("kv.transfer_to_recompute", kv.transfer_to_recompute, wire / compute, hint)
    overhead = value["transfer_overhead_s"]
    removed = kv.transfer_overhead_s < overhead
    findings.same("kv.transfer_overhead_s", kv.transfer_overhead_s, overhead,
                 "; transfer overhead was removed" if removed else "")  # fmt: skip
    _hardware(value, findings)
    findings.checked.append("KV arithmetic")
    return Constants(
        weights_s=value["step_weights_s"],
        context_s=value["step_context_s_per_token"],
        compute_s=compute,
        overhead_s=value["step_overhead_s"],
        wire_s=wire,
        hand_off_s=overhead,
        layers=int(value["layers"]),
        overlap=receipt.settings.overlap,
        max_seqs=receipt.settings.max_seqs,
        exact=receipt.settings.exact_context,
    )


def _hardware(value: dict[str, float], findings: Findings) -> None:
    """Step constants from declared hardware, where it is declared."""
    if not {"weight_bytes", "parameters", "memory_bytes_per_s", "flop_per_s"} <= value.keys():
        return
    reads = value["accelerators_per_instance"] * value["memory_bytes_per_s"]
    flops = value["accelerators_per_instance"] * value["flop_per_s"]
    found = {
        "step_weights_s": value["weight_bytes"] / reads,
        "step_context_s_per_token": value["kv_bytes_per_token"] / reads,
        "step_compute_s_per_token": 2 * value["parameters"] / flops,
    }
    for name, number in found.items():
        findings.same(f"inputs.{name}", value[name], number)
