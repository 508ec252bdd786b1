"""What the hand-off costs, from observed transfers; what they do not tell stays as supplied."""

from dataclasses import dataclass, replace

import numpy as np

from analyzer.plan.kv_cost import Link, Transfer, exposed_each
from analyzer.plan.observed import QUERY, Observed
from analyzer.plan.outcome import Floats
from analyzer.plan.provenance import Input, Label
from analyzer.robust_fit import fit

ENOUGH = 20
TRANSFERS = "analyzer/plan/sql/observed_transfers.sql"


@dataclass(frozen=True, slots=True)
class HandOffFit:
    """The transfer, the provenance of its numbers, and what to know about them.

    `conservative_bytes_per_s` is the rate that 95 of 100 observed hand-offs reached, None where none was.
    """

    transfer: Transfer
    inputs: tuple[Input, ...]
    notes: tuple[str, ...]
    conservative_bytes_per_s: float | None


def fit_hand_off(
    observed: Observed, supplied: Transfer, compute_s: float, by: str, colocated: bool
) -> HandOffFit:
    """Bytes per token and the rate of the link from observed transfers, where enough of them say so.

    What passes between the end of prefill and the first token beyond the modelled transfer, and before a
    worker has the request, is the overhead of a hand-off.
    """
    transfer, slow, notes = supplied, None, []
    names = {"layers": supplied.layers, "nics": supplied.link.nics}
    origins = dict.fromkeys(
        ("kv_bytes_per_token", "nic_bytes_per_s", "link_efficiency", "transfer_overhead_s"), False
    )
    h = observed.hand_offs
    known = np.isfinite(h.seconds) & (h.bytes > 0)
    if known.sum() >= ENOUGH and (found := _rate(h.bytes[known], h.seconds[known])):
        transfer = replace(transfer, link=Link(1, found, 1.0))
        slow = float(np.quantile(h.bytes[known] / h.seconds[known], 0.05))
        names["nics"] = 1
        origins |= {"nic_bytes_per_s": True, "link_efficiency": True}
        counted = known & (h.tokens > 0)
        if counted.any():
            per_token = float(h.bytes[counted].sum() / h.tokens[counted].sum())
            transfer = replace(transfer, bytes_per_token=per_token)
            origins["kv_bytes_per_token"] = True
    elif not colocated:
        notes.append(f"{int(known.sum())} transfers say their bytes and time, so the link is as supplied")
    else:
        notes.append("colocated workers hand nothing over, so link and hand-off are as supplied")
    if not colocated:
        overhead = _overhead(observed, transfer, compute_s)
        transfer = replace(transfer, overhead_s=overhead)
        origins["transfer_overhead_s"] = True
    return HandOffFit(transfer, tuple(_inputs(transfer, names, origins, observed, by)), tuple(notes), slow)


def _rate(size: Floats, seconds: Floats) -> float | None:
    found = fit(np.column_stack([np.ones(len(size)), size]), seconds)
    if found is None or found.coefficients[1] <= 0:
        return None
    return float(1 / found.coefficients[1])


def _overhead(observed: Observed, transfer: Transfer, compute_s: float) -> float:
    columns = observed.workload.columns
    bare = replace(transfer, overhead_s=0.0)
    exposed = exposed_each(bare, columns.prompt, columns.uncached, compute_s)
    beyond = observed.first - observed.prefill_until - exposed
    return max(0.0, _median(beyond) + _median(observed.front))


def _median(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else 0.0


def _inputs(
    transfer: Transfer, names: dict[str, int], seen: dict[str, bool], observed: Observed, by: str
) -> list[Input]:
    rows = [
        ("kv_bytes_per_token", transfer.bytes_per_token, "B/token", TRANSFERS),
        ("nic_bytes_per_s", transfer.link.nic_bytes_per_s, "B/s per NIC, peak", TRANSFERS),
        ("link_efficiency", transfer.link.efficiency, "share of peak reached", TRANSFERS),
        ("transfer_overhead_s", transfer.overhead_s, "s per hand-off", QUERY),
    ]
    units = {"layers": "layers", "nics": "NICs per instance"}
    found = [Input(name, value, units[name], Label.SUPPLIED, by) for name, value in names.items()]
    for name, value, unit, query in rows:
        if seen[name]:
            found.append(Input(name, value, unit, Label.DERIVED, f"fit to {query}, {observed.window}"))
        else:
            found.append(Input(name, value, unit, Label.SUPPLIED, by))
    return found
