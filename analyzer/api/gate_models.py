"""The shape of `POST /gate`."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from analyzer.api.compare_models import EstimateModel
from analyzer.api.models import WindowModel


class GateBody(BaseModel):
    """What may be laid beside the cohorts: a planning receipt with its matrix, and benchmark receipts."""

    model_config = {"extra": "forbid"}

    receipt: dict[str, Any] | None = Field(default=None, description="A receipt of `pdscope plan`.")
    receipt_name: str = Field(default="receipt", max_length=512, description="What the answer calls it.")
    matrix: str | None = Field(default=None, description="The receipt's CSV.")
    benchmarks: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Receipts of `pdscope replay`, by the name the answer gives them."
    )


class FigureModel(BaseModel):
    """One figure of a slice; latencies in seconds."""

    name: str
    baseline: EstimateModel
    candidate: EstimateModel
    difference: EstimateModel = Field(description="candidate − baseline")
    better: Literal["baseline", "candidate", "neither"] | None = Field(
        description="Whose, where the interval of the difference excludes 0."
    )
    reason: str | None = Field(description="Why it cannot be compared.")


class SliceModel(BaseModel):
    """Requests that share a label's value."""

    by: Literal["all", "input_bucket", "tenant", "model"]
    key: str | None
    requests: dict[Literal["baseline", "candidate"], int]
    figures: list[FigureModel]


class PromiseModel(BaseModel):
    """One line of the receipt (modelled) beside what was measured."""

    name: str
    prompts: str | None = Field(description="Of prompts of this input bucket only; null: of all requests.")
    unit: str
    promised: float | None
    promised_label: Literal["modelled", "supplied"]
    measured: EstimateModel
    measured_label: Literal["observed"] = "observed"
    limit: float | None = Field(description="What the measured value is held to; null: nothing to hold to.")
    kept: Literal["kept", "broken", "undecided", "not_shown"]
    why: str


class CheckModel(BaseModel):
    """One line of the checklist."""

    line: str
    title: str
    status: Literal["shown", "failed", "not_shown", "waived"]
    answer: str
    facts: dict[str, float | int | str | None]
    source: str = Field(description="`store`, or the name of a file.")


class PlanModel(BaseModel):
    """The receipt that was laid beside."""

    name: str
    status: Literal["verified", "rejected", "incomplete"]
    problems: list[str]
    unchecked: list[str]
    scenario: str | None
    layout: str | None


class CohortModel(BaseModel):
    """One side."""

    name: str
    window: WindowModel
    requests: int
    evaluated: int
    met: int
    layout: str | None
    accelerators: float | None


class GateModel(BaseModel):
    """May the candidate be rolled out? `refused` and `unsaid` hold every reason."""

    verdict: Literal["pass", "refuse", "cannot_say"]
    refused: list[str]
    unsaid: list[str]
    settled: bool
    objective: dict[Literal["ttft", "tpot"], float] | None = Field(
        description="Seconds; null where several objectives apply."
    )
    tolerance: float
    confidence: float
    baseline: CohortModel
    candidate: CohortModel
    plan: PlanModel | None
    promises: list[PromiseModel]
    checklist: list[CheckModel]
    slices: list[SliceModel]
