"""Constants that were fitted to a window: do they give back what was measured in it?"""

from analyzer.plan import plain_loop
from analyzer.plan.findings import Findings
from analyzer.plan.plain_loop import Constants
from analyzer.plan.receipt_model import CalibrationPart, Receipt
from analyzer.plan.verify_inputs import FIT
from analyzer.plan.verify_requests import Carried, Measured
from analyzer.plan.verify_scenarios import trail_of

MOST_POINTS, MOST_TTFT, MOST_TPOT, SMALL_TTFT_S = 0.05, 0.35, 0.15, 0.010
"""How far a replay may be off for anything to be recommended, as docs/planning.md says."""


def check_fit(receipt: Receipt, c: Constants, carried: Carried | None, findings: Findings) -> None:
    """Replay the requests through what served them, and compare with what was measured of them."""
    fitted = sorted(
        n for n, i in receipt.inputs.items() if i.label == "derived" and i.formula.startswith(FIT)
    )
    if not fitted:
        return
    said = receipt.calibration
    if said is None or carried is None:
        missing = "the receipt does not say what served then" if said is None else "that file was not given"
        findings.unchecked.append(f"inputs {', '.join(fitted)} were fitted to requests; {missing}")
        return
    if _other_traffic(receipt, carried):
        findings.problems.append("calibration: its requests are not those of the first workload as they came")
        return
    inside = _inside(receipt, carried)
    attainment, ttft50, tpot50 = _measured(inside)
    findings.same("calibration: measured", said.measured, len(inside))
    findings.same("calibration: attainment", said.attainment, attainment)
    findings.same("calibration: ttft50_s", said.ttft50_s, ttft50)
    findings.same("calibration: tpot50_s", said.tpot50_s, tpot50)
    trail = trail_of(said.served, carried.rows, receipt.settings, c)
    contract = receipt.contract
    window = (contract.window_start_s, contract.window_end_s)
    found = plain_loop.figures(trail, carried.rows, window, contract.ttft_s, contract.tpot_s)
    _held(said, found, findings)
    findings.checked.append("fitted constants")


def _other_traffic(receipt: Receipt, carried: Carried) -> bool:
    first = receipt.workloads[0]
    requests = first.source.requests if first.source.kind == "stored" else None
    return requests is None or requests.sha256 != carried.sha256 or first.arrivals != 1


def _inside(receipt: Receipt, carried: Carried) -> list[Measured]:
    start, end = receipt.contract.window_start_s, receipt.contract.window_end_s
    pairs = zip(carried.rows, carried.measured, strict=True)
    return [seen for row, seen in pairs if start < row[0] < end and seen.met is not None]


def _measured(inside: list[Measured]) -> tuple[float | None, float | None, float | None]:
    def median(values: list[float]) -> float | None:
        return sorted(values)[len(values) // 2] if values else None

    met = sum(seen.met is True for seen in inside) / len(inside) if inside else None
    ttft = median([seen.ttft_s for seen in inside if seen.ttft_s is not None])
    return met, ttft, median([seen.tpot_s for seen in inside if seen.tpot_s is not None])


def _held(said: CalibrationPart, found: dict[str, float | int | None], findings: Findings) -> None:
    """What the constants give, against what was measured, within the limits."""
    share = (found["met_count"] or 0) / found["measured"] if found["measured"] else None
    if said.attainment is not None and share is not None and abs(share - said.attainment) > MOST_POINTS:
        findings.problems.append(
            f"calibration: the constants give {share:.1%} within the objectives, {said.attainment:.1%} were"
        )
    for name, measured, most, small in (
        ("ttft50_s", said.ttft50_s, MOST_TTFT, SMALL_TTFT_S), ("tpot50_s", said.tpot50_s, MOST_TPOT, 0.0),
    ):  # fmt: skip
        modelled = found[name]
        if measured is None or modelled is None:
            continue
        if abs(modelled - measured) > max(most * measured, small):
            findings.problems.append(
                f"calibration: the constants give {name} {modelled:.4g}, measured was {measured:.4g}: "
                f"more than {most:.0%} apart"
            )
