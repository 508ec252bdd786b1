"""Shapes of `/compare`."""

from pydantic import BaseModel, Field

from analyzer.api.diagnosis_models import SourcedModel
from analyzer.api.models import AccountingModel, WindowModel


class EstimateModel(BaseModel):
    """An estimate and its 95% interval; null when it cannot be made."""

    value: float | None
    low: float | None
    high: float | None


class ContrastModel(BaseModel):
    """One figure on both sides; difference is candidate - baseline."""

    baseline: EstimateModel
    candidate: EstimateModel
    difference: EstimateModel
    better: str | None = Field(description="baseline, candidate, or neither when the interval holds 0")
    reason: str | None = Field(description="Why it is not known, when it is not")


class LatencyPointsModel(BaseModel):
    """Percentiles of evaluated requests, in seconds."""

    p50: float
    p95: float
    p99: float


class BucketSideModel(BaseModel):
    """One side of a prompt bucket."""

    evaluated: int
    ttft: LatencyPointsModel | None
    tpot: LatencyPointsModel | None


class ComparedBucketModel(BaseModel):
    """One prompt bucket on both sides."""

    bucket: str | None = Field(description="null: prompts of unknown length")
    weight: float = Field(description="Part of the common mix; 0 where only one side has it")
    baseline: BucketSideModel
    candidate: BucketSideModel
    attainment: dict[str, ContrastModel] = Field(description="ttft, tpot, joint")
    good_requests_per_gpu_hour: ContrastModel = Field(
        description="Its part of the common mix's; the parts add up"
    )


class JudgedByModel(BaseModel):
    """An objective that requests of both sides were judged by."""

    name: str
    ttft: float
    tpot: float
    target: float
    source: str


class SideModel(BaseModel):
    """What one side was."""

    cohort: str | None
    window: WindowModel
    requests: AccountingModel
    models: list[str | None]
    ttft_source: str | None = Field(description="The instant that most TTFTs end with")
    gpus: SourcedModel
    gpu_hours: SourcedModel


class ComparedTurnSideModel(BaseModel):
    """Turns on one side."""

    requests: int
    cached_fraction: float | None = Field(description="Prompt tokens cached, of requests that say")
    appended: int = Field(description="New tokens prefilled on the decode worker on purpose")
    recomputed: int = Field(
        description="Prompts computed on the decode worker after a failed or missing hand-off"
    )


class ComparedTurnsModel(BaseModel):
    """First turns of conversations, or later ones."""

    turns: str = Field(examples=["first", "later"])
    baseline: ComparedTurnSideModel
    candidate: ComparedTurnSideModel
    attainment: ContrastModel = Field(description="Of both limits, on the mix of prompts these turns share")


class MethodModel(BaseModel):
    """How the intervals were made."""

    intervals: str
    resamples: int
    blocks: int
    confidence: float
    seed: int


class CompareModel(BaseModel):
    """Answer of `/compare`. Attainments and goodput are those of the common mix of prompts."""

    baseline: SideModel
    candidate: SideModel
    objectives: list[JudgedByModel]
    summary: str
    attainment: dict[str, ContrastModel] = Field(description="ttft, tpot, joint")
    good_requests_per_gpu_hour: ContrastModel
    buckets: list[ComparedBucketModel]
    turns: list[ComparedTurnsModel] = Field(description="Empty unless both sides name conversations")
    accelerators: str = Field(description="Equal, normalised, or not known")
    notes: list[str] = Field(description="What the sides differ in without being refused for it")
    method: MethodModel
