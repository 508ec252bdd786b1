"""Everything a gate may look at: both cohorts, other cohorts that were tried, and named files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analyzer.gate.cohort import Cohort
from analyzer.gate.slices import Slice
from analyzer.plan.benchmark import Benchmark
from analyzer.plan.receipt_model import Receipt, Scenario

TRIED = ("chunked-prefill", "routing")
"""What a cohort may be named to have tried instead of disaggregation."""


@dataclass(frozen=True)
class Evidence:
    """`tried` holds the cohorts named for each of TRIED; files are told by their names."""

    baseline: Cohort
    candidate: Cohort
    slices: Sequence[Slice]
    tried: Mapping[str, Sequence[Cohort]] = field(default_factory=dict)
    receipt: Receipt | None = None
    receipt_name: str = ""
    scenario: Scenario | None = None
    benchmarks: Mapping[str, Benchmark] = field(default_factory=dict)
