"""A planning receipt (modelled) beside a benchmark receipt (measured), line by line."""

from dataclasses import dataclass

from analyzer.plan.benchmark import Benchmark
from analyzer.plan.receipt_model import Receipt, Scenario
from analyzer.replay.errors import BadReplay


@dataclass(frozen=True)
class Line:
    """One line; `error` is measured ÷ promised − 1."""

    name: str
    unit: str
    promised: float | None
    measured: float | None
    error: float | None
    why: str | None
    """Why one side is missing, or the two are not of the same thing."""


def choose(receipt: Receipt, benchmark: Benchmark, scenario: str | None) -> Scenario:
    """The scenario a benchmark is laid beside: the named one, else that of its layout. Raises BadReplay."""
    known = ", ".join(f"{s.id} ({s.layout.name})" for s in receipt.scenarios[:12])
    if scenario is not None:
        for found in receipt.scenarios:
            if found.id == scenario:
                return found
        raise BadReplay(f"--scenario: {scenario!r} is none of {known}")
    fitting = [s for s in receipt.scenarios if s.layout.name == benchmark.layout]
    if len(fitting) != 1:
        what = f"{len(fitting)} scenarios are of layout {benchmark.layout!r}"
        raise BadReplay(f"{what}; say which with --scenario: {known}")
    return fitting[0]


def diff(receipt: Receipt, scenario: Scenario, benchmark: Benchmark) -> list[Line]:
    """Every figure that both kinds of receipt hold."""
    result, figures = scenario.result, benchmark.figures
    workload = next(part for part in receipt.workloads if part.name == scenario.workload)
    share = result.met_count / result.measured if result.measured else None
    met = figures.met_count / figures.sent if figures.sent else None
    lines = [
        ("attainment", "fraction", share, met, _objectives(receipt, benchmark)),
        ("ttft50", "s", result.ttft50_s, figures.ttft50_s, None),
        ("ttft95", "s", result.ttft95_s, figures.ttft95_s, None),
        ("tpot50", "s", result.tpot50_s, figures.tpot50_s, None),
        ("tpot95", "s", result.tpot95_s, figures.tpot95_s, None),
        ("itl99", "s", result.itl99_s, figures.itl99_s, "gaps between chunks, which may hold several tokens"),
        ("requests_per_s", "1/s", workload.requests_per_s, figures.requests_per_s, None),
        ("output_tokens_per_s", "1/s", workload.output_tokens_per_s, figures.output_tokens_per_s, None),
        ("mean_prompt", "tokens", workload.mean_prompt, benchmark.lengths.told_mean, None),
    ]  # fmt: skip
    return [_line(*line) for line in lines]


def unlike(receipt: Receipt, scenario: Scenario, benchmark: Benchmark) -> list[str]:
    """Why the two are not of the same thing; empty when nothing speaks against it."""
    workload = next(part for part in receipt.workloads if part.name == scenario.workload)
    out = []
    if not benchmark.complete:
        out.append(f"the benchmark is partial: {benchmark.why_incomplete}")
    if not benchmark.client.kept_up:
        out.append(benchmark.client.statement)
    if workload.source.kind == "trace" and workload.source.sha256 != benchmark.trace.sha256:
        out.append(f"other traffic: planned on {workload.source.file}, measured on {benchmark.trace.name}")
    if workload.source.kind != "trace":
        out.append(f"other traffic: planned on {workload.name}, measured on {benchmark.trace.name}")
    if benchmark.trace.speed != 1.0:
        out.append(f"arrivals were replayed {benchmark.trace.speed:g} times as fast")
    if benchmark.trace.requests < workload.requests:
        out.append(f"{benchmark.trace.requests} of the plan's {workload.requests} requests were replayed")
    return out


def _objectives(receipt: Receipt, benchmark: Benchmark) -> str | None:
    contract, own = receipt.contract, benchmark.objective
    if (contract.ttft_s, contract.tpot_s) == (own.ttft_s, own.tpot_s):
        return None
    planned, measured = (f"{item.ttft_s:g} s and {item.tpot_s:g} s" for item in (contract, own))
    return f"other objectives: {planned} planned, {measured} measured"


def _line(name: str, unit: str, promised: float | None, measured: float | None, why: str | None) -> Line:
    if promised is None or measured is None:
        missing = "not modelled" if promised is None else "not measured"
        return Line(name, unit, promised, measured, None, why or missing)
    return Line(name, unit, promised, measured, measured / promised - 1 if promised else None, why)
