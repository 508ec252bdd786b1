"""The KV arithmetic and the step constants of a receipt, worked out again from its inputs."""

from math import isclose

from analyzer.plan.findings import Findings
from analyzer.plan.formula import evaluate_formula
from analyzer.plan.plain_loop import Constants
from analyzer.plan.receipt_model import UNITS, Derived, Receipt

FIT = "fit to "
"""How the origin of a constant begins that was fitted to a window's requests."""

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
    if bad := [name for name in NEEDED if not _in_range(name, value[name])]:
        findings.problems.append(f"inputs: {', '.join(bad)} out of range; nothing can be checked")
        return None
    for name, item in receipt.inputs.items():
        if item.unit != UNITS.get(name, item.unit):
            findings.problems.append(f"inputs.{name}: unit is {item.unit!r}; it must be {UNITS[name]!r}")
        if item.label == "derived":
            _derived(name, item, value, findings)
    _room(receipt, value, findings)
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


def _in_range(name: str, value: float) -> bool:
    if name in ("layers", "nics", "accelerators_per_instance"):
        return value == int(value) and 1 <= value <= 1e6
    if name.endswith("overhead_s"):
        return 0 <= value <= 1e6
    if name == "link_efficiency":
        return 0 < value <= 1
    return 1e-15 <= value <= (1e6 if name.startswith("step_") else 1e30)


def _derived(name: str, item: Derived, value: dict[str, float], findings: Findings) -> None:
    """A derived input again, from the inputs its formula names; fits are left to verify_fit."""
    if item.formula.startswith(FIT):
        return
    try:
        found = evaluate_formula(item.formula, value)
    except KeyError as missing:
        findings.problems.append(f"inputs.{name}: its formula needs {missing}, which is not among the inputs")
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        findings.unchecked.append(
            f"inputs.{name}: its formula {item.formula!r} cannot be worked out: {error}"
        )
    else:
        findings.same(f"inputs.{name}", item.value, found)


def _room(receipt: Receipt, value: dict[str, float], findings: Findings) -> None:
    """KV tokens of an instance, where they limit anything."""
    said = receipt.settings.kv_tokens
    if said is None:
        return
    if missing := [name for name in ("memory_bytes", "weight_bytes", "runtime_bytes") if name not in value]:
        findings.unchecked.append(f"settings.kv_tokens: needs {', '.join(missing)}")
        return
    memory = value["accelerators_per_instance"] * value["memory_bytes"]
    free = memory - value["weight_bytes"] - value["runtime_bytes"]
    findings.same("settings.kv_tokens", said, free // value["kv_bytes_per_token"])
