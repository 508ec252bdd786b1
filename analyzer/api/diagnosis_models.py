"""Shapes of the answers about causes, pools and hand-offs."""

from typing import Any

from pydantic import BaseModel, Field

from analyzer.api.models import AccountingModel, EvidenceModel, MissingModel, WindowModel


class AskedObjectiveModel(BaseModel):
    """What requests were judged against; null where several objectives differ."""

    ttft: float | None
    tpot: float | None
    target: float | None = Field(description="null: none was asked for, every miss counts")
    source: str


class SpreadModel(BaseModel):
    """Milliseconds that a cause added."""

    p50: float
    p95: float


class CauseModel(BaseModel):
    """One cause of the window's misses."""

    cause: str
    requests: float = Field(description="May be fractional: shares of a miss add up to 1")
    share: float
    excess_ttft_ms: SpreadModel | None
    excess_tpot_ms: SpreadModel | None
    would_have_met_without_it: int
    confidence: float
    evidence: list[EvidenceModel]
    next_step: str


class FindingModel(BaseModel):
    """A fact about the fleet or its telemetry."""

    finding: str
    severity: str = Field(examples=["info", "warning", "critical"])
    detail: str
    requests: int | None
    evidence: list[EvidenceModel]


class DiagnosisModel(BaseModel):
    """Answer of `/diagnosis`."""

    window: WindowModel
    objective: AskedObjectiveModel
    settled: bool = Field(description="false: spans are received and not yet taken into account")
    watermark: str | None = Field(description="The newest instant that the telemetry of the window covers")
    requests: AccountingModel
    dominant_cause: str
    confidence: float | None
    summary: str
    causes: list[CauseModel]
    findings: list[FindingModel]
    missing_telemetry: list[MissingModel]
    quantities: dict[str, Any]


class GroupModel(BaseModel):
    """Misses of one group by cause."""

    key: str | None
    requests: int
    missed: int
    causes: dict[str, float]


class AttributionModel(BaseModel):
    """Answer of `/attribution`."""

    by: str
    groups: list[GroupModel]


class SourcedModel(BaseModel):
    """A value and how it is known; null with a reason when it is not."""

    value: float | bool | dict[str, float] | None
    source: str | None = Field(examples=["observed", "derived"])
    reason: str | None = None


class PoolWorkerModel(BaseModel):
    """One worker at the end of the window (rates over the window)."""

    worker: str
    queue_depth: SourcedModel
    running: SourcedModel
    kv_used_fraction: SourcedModel
    kv_pinned_tokens: SourcedModel
    service_rates: SourcedModel = Field(description="Requests and tokens per second by phase")
    saturated: SourcedModel
    headroom: SourcedModel = Field(description="Fraction of its capacity that is free")
    since: str | None = Field(description="Since when it has been saturated, or not")


class PoolModel(BaseModel):
    """One pool."""

    pool: str
    workers: list[PoolWorkerModel]
    skew: float | None = Field(description="Busiest worker's waiting time ÷ the median worker's")
    verdict: str


class PoolsModel(BaseModel):
    """Answer of `/pools`."""

    pools: list[PoolModel]


class RateModel(BaseModel):
    """Effective rates, 1e9 bytes per second."""

    p50: float
    p5: float


class TransferGroupModel(BaseModel):
    """Hand-offs of one pair, connector or worker."""

    key: str | None
    transfers: int
    bytes: float | None
    gb_s: RateModel | None
    aggregate_gb_s: float | None
    post_share: float | None
    failed: int
    concurrency: float | None
    link_gb_s: float | None
    discarded: int = Field(description="Rates above the line rate, left out")


class TransfersModel(BaseModel):
    """Answer of `/transfers`; 1 GB is 1e9 bytes."""

    by: str
    groups: list[TransferGroupModel]


class OrphanModel(BaseModel):
    """A hand-off whose KV nobody read, or that was read after its lease."""

    transfer_id: str | None
    request_key: str
    worker: str | None
    side: str = Field(examples=["prefill", "decode"])
    bytes: float | None
    held_s: float | None
    lease_s: float | None
    state: str = Field(examples=["held", "expired", "released_late", "never_filled"])
    why: str


class OrphansModel(BaseModel):
    """Answer of `/kv/orphans`, at most 1,000 of each, longest held first."""

    orphans: list[OrphanModel]
    late_reads: list[OrphanModel]
    orphans_total: int
    late_reads_total: int
    limit_s: float = Field(
        description="max(lease, p99 request time): younger hand-offs are not called orphans"
    )


class DistributionModel(BaseModel):
    """A quantity of the requests; `buckets` count them by powers of two (upper edge included)."""

    count: int
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None
    buckets: dict[str, int]


class ArrivalsModel(BaseModel):
    """How requests arrive."""

    requests: int
    per_s: float
    peak_per_s: float | None = Field(description="Busiest second's rate")
    interarrival_cv: float | None = Field(description="Standard deviation ÷ mean of gaps; 1 for Poisson")
    dispersion: float | None = Field(description="Variance ÷ mean of counts per second; 1 for Poisson")


class TurnModel(BaseModel):
    """Requests that are the n-th turn of their conversation."""

    turn: int
    requests: int
    input_tokens: float | None
    cached_fraction: float | None
    appended: int = Field(description="Prefilled on decode on purpose")
    recomputed: int = Field(description="Prefilled on decode because the hand-off failed or was missing")
    resent_fraction: float | None = Field(description="Tokens sent that decode already held ÷ tokens sent")
    resent_at_most: float | None = Field(
        description="The same if decode still held all of the turn before (bounded)"
    )
    same_decode_fraction: float | None = Field(
        description="Turns decoded by the worker that decoded the turn before"
    )
    ttft: float | None
    evaluated: int
    missed: int


class ConversationsModel(BaseModel):
    """Turns of conversations, as far as requests name theirs."""

    conversations: int
    turns: list[TurnModel]
    note: str | None = Field(description="What the turns say about the way they are served")


class WorkloadGroupModel(BaseModel):
    """Traffic of one group."""

    key: str | None
    arrivals: ArrivalsModel
    input_tokens: DistributionModel
    cached_tokens: DistributionModel
    output_tokens: DistributionModel
    concurrency: DistributionModel = Field(description="Requests under way as each one started")
    conversations: ConversationsModel


class WorkloadModel(BaseModel):
    """Answer of `/workload`."""

    by: str | None
    groups: list[WorkloadGroupModel]
