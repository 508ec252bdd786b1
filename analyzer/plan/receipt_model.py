"""The topology receipt's form; its published JSON Schema, `receipt_schema.json`, is generated from here."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from analyzer.plan.layout import MAX_RETRIES, MAX_SEQS, MAX_STEP_TOKENS
from analyzer.plan.workload import MAX_TOKENS

SCHEMA = "pdscope.topology-receipt/1"
MAX_CARRIED = 200_000
"""Most requests that lie beside a receipt."""

UNITS = {
    "weight_bytes": "B",
    "parameters": "parameters active per token",
    "runtime_bytes": "B",
    "memory_bytes": "B per accelerator",
    "memory_bytes_per_s": "B/s per accelerator",
    "flop_per_s": "FLOP/s per accelerator",
    "accelerators_per_instance": "accelerators",
    "kv_bytes_per_token": "B/token",
    "layers": "layers",
    "nics": "NICs per instance",
    "nic_bytes_per_s": "B/s per NIC, peak",
    "link_efficiency": "share of peak reached",
    "transfer_overhead_s": "s per hand-off",
    "step_weights_s": "s",
    "step_context_s_per_token": "s/token",
    "step_compute_s_per_token": "s/token",
    "step_overhead_s": "s",
}
"""The unit every known input is given in."""


class Part(BaseModel):
    """A part of a receipt: closed, so that a misspelt or added field is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Observed(Part):
    """An input read from telemetry or a file: by which query, over which window."""

    label: Literal["observed"]
    value: float
    unit: str
    query: str = Field(min_length=1)
    window: str = Field(min_length=1)


class Supplied(Part):
    """An input someone declared."""

    label: Literal["supplied"]
    value: float
    unit: str
    by: str = Field(min_length=1)


class Derived(Part):
    """An input computed from others."""

    label: Literal["derived"]
    value: float
    unit: str
    formula: str = Field(min_length=1)


AnyInput = Annotated[Observed | Supplied | Derived, Field(discriminator="label")]


class Versions(Part):
    """What wrote the receipt."""

    pdscope: str
    python: str
    numpy: str


class ContractPart(Part):
    """Objectives, asked-for attainment, utilisation ceiling and the measured window of arrivals."""

    ttft_s: float = Field(gt=0)
    tpot_s: float = Field(gt=0)
    attainment: float = Field(gt=0, le=1)
    utilisation_ceiling: float = Field(gt=0, le=1)
    window_start_s: float
    window_end_s: float


class SettingsPart(Part):
    """What every scenario shares; null: no limit."""

    max_seqs: int = Field(ge=1, le=MAX_SEQS)
    kv_tokens: float | None = Field(gt=0)
    routing: Literal["round-robin", "least-loaded"]
    lease_s: float | None = Field(gt=0)
    retries: int = Field(ge=0, le=MAX_RETRIES)
    retry_after_s: float = Field(default=0.0, ge=0)
    losses: int = Field(ge=0, le=1000)
    exact_context: bool
    overlap: bool


class KvPart(Part):
    """KV arithmetic and the effective transfer assumptions."""

    bytes_per_token: float = Field(gt=0)
    peak_bytes_per_s: float = Field(gt=0)
    effective_bytes_per_s: float = Field(gt=0)
    transfer_overhead_s: float = Field(ge=0)
    transfer_s_per_token: float = Field(gt=0)
    prefill_s_per_token: float = Field(gt=0)
    transfer_to_recompute: float = Field(gt=0)


class SyntheticSource(Part):
    """A workload anyone can draw again."""

    kind: Literal["synthetic"]
    seed: int
    rate_per_s: float = Field(gt=0, le=1e6)
    until_s: float = Field(gt=0, le=1e7)
    prompt_median: float = Field(gt=0, le=1e6)
    prompt_sigma: float = Field(ge=0, le=5)
    prompt_max: int = Field(ge=1, le=MAX_TOKENS)
    output_median: float = Field(gt=0, le=1e6)
    output_sigma: float = Field(ge=0, le=5)
    output_min: int = Field(ge=1)
    output_max: int = Field(ge=1, le=MAX_TOKENS)


class TraceSource(Part):
    """A workload from a trace file, named and sealed."""

    kind: Literal["trace"]
    file: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    prefix_cache: bool


class RequestsPart(Part):
    """The requests beside the receipt: its name without `.json`, and `suffix` (`.gz` where it is packed)."""

    suffix: Literal[".requests.csv"]
    rows: int = Field(ge=1, le=MAX_CARRIED)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    """Of the text, not packed."""


class StoredSource(Part):
    """A workload read from a store: by which query, over which window; and what was read."""

    kind: Literal["stored"]
    query: str = Field(min_length=1)
    window: str = Field(min_length=1)
    requests: RequestsPart | None = None


class Bucket(Part):
    """Requests by prompt length."""

    prompt_above: int
    prompt_to: int | None
    requests: int
    mean_prompt: float | None
    mean_output: float | None


class WorkloadPart(Part):
    """The offered traffic and the phase rates it asks for."""

    name: str
    label: Literal["observed", "supplied"]
    source: Annotated[SyntheticSource | TraceSource | StoredSource, Field(discriminator="kind")]
    arrivals: float = Field(default=1.0, gt=0, le=100)
    """How many times as fast as in the source requests arrive; the measured window shrinks with them."""
    requests: int = Field(ge=1)
    requests_per_s: float
    uncached_tokens_per_s: float
    output_tokens_per_s: float
    mean_prompt: float
    mean_output: float
    buckets: list[Bucket]


class QueuePart(Part):
    """One queue at one moment of demand."""

    name: Literal["colocated", "prefill", "decode", "transfer"]
    moment: Literal["mean", "p95", "peak"]
    unit: str
    offered_per_s: float
    service_per_s: float
    utilisation: float | None


class PromptPart(Part):
    """Simulated figures of the requests with prompts of one length."""

    prompts: Literal["0-1K", "1-4K", "4-16K", "16K+"]
    measured: int = Field(ge=1)
    met_count: int = Field(ge=0)
    ttft50_s: float | None
    ttft95_s: float | None
    tpot50_s: float | None
    tpot95_s: float | None


class ResultPart(Part):
    """Simulated figures; null where nothing was measured."""

    label: Literal["modelled"]
    measured: int = Field(ge=0)
    met_count: int = Field(ge=0)
    failed: dict[str, int]
    retried: int = Field(ge=0)
    ttft50_s: float | None
    ttft95_s: float | None
    tpot50_s: float | None
    tpot95_s: float | None
    itl99_s: float | None
    by_prompt: list[PromptPart] = []


class LayoutPart(Part):
    """Colocated workers with a chunk budget, or two pools with the prefill step budget."""

    kind: Literal["colocated", "disaggregated"]
    name: str
    workers: int = Field(ge=1, le=1024)
    prefill: int | None = Field(ge=1, le=1024)
    decode: int | None = Field(ge=1, le=1024)
    step_budget: int = Field(ge=1, le=MAX_STEP_TOKENS)
    accelerators: int = Field(ge=1)


class Scenario(Part):
    """One layout under one workload."""

    id: str
    layout: LayoutPart
    workload: str
    queues: list[QueuePart] = Field(min_length=1)
    result: ResultPart
    accepted: bool
    reasons: list[str]


class Rejected(Part):
    """A refused scenario and why."""

    scenario: str
    reasons: list[str] = Field(min_length=1)


class CalibrationPart(Part):
    """What served the window that constants were fitted to, and what was measured of it there."""

    label: Literal["observed"]
    served: LayoutPart
    measured: int = Field(ge=0)
    attainment: float | None
    ttft50_s: float | None
    tpot50_s: float | None


class TransferBudgetPart(Part):
    """What a p95 prompt's hand-off takes of what prefill leaves of TTFT; two pools need `reserve` left."""

    prompt_tokens: int = Field(ge=1)
    bytes_per_s: float = Field(gt=0)
    prefill_s: float = Field(ge=0)
    transfer_s: float = Field(ge=0)
    envelope_s: float
    reserve: float = Field(ge=0, lt=1)
    left: float
    refused: str | None


class LanePart(Part):
    """Workers of one pool as they serve now and as recommended."""

    pool: Literal["colocated", "prefill", "decode"]
    now: int | None = Field(ge=0)
    then: int = Field(ge=0)
    change: Literal["grows", "shrinks", "stays", "opens", "closes"]


class DegradedPart(Part):
    """What is left of a layout when a worker or the link is lost."""

    layout: str
    mode: str
    serves: str
    measured: int = Field(ge=0)
    met_count: int = Field(ge=0)


class RecommendationPart(Part):
    """What to do, from layouts that meet the contract with `headroom` more requests."""

    label: Literal["modelled"]
    layout: str | None
    headroom: float = Field(ge=0)
    served: str | None
    statement: str
    considered: list[str]
    lanes: list[LanePart]


class Headline(Part):
    """The smallest layout accepted under every workload, by its worst one (attainment, then TTFT95)."""

    label: Literal["modelled"]
    layout: str | None
    accelerators: int | None
    scenario: str | None
    attainment: float | None
    ttft95_s: float | None
    tpot95_s: float | None
    highest_utilisation: float | None
    statement: str


class Matrix(Part):
    """The CSV beside the receipt: one row per scenario."""

    rows: int
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class Receipt(Part):
    """A topology receipt. Everything it promises is modelled; `digest` seals all other fields."""

    schema_version: Literal["pdscope.topology-receipt/1"]
    label: Literal["modelled"]
    written_at: str
    versions: Versions
    contract: ContractPart
    settings: SettingsPart
    inputs: dict[str, AnyInput]
    kv: KvPart
    workloads: list[WorkloadPart] = Field(min_length=1)
    scenarios: list[Scenario] = Field(min_length=1)
    rejected: list[Rejected]
    fallback: list[str] = Field(min_length=1)
    headline: Headline
    calibration: CalibrationPart | None = None
    transfer_budget: TransferBudgetPart | None = None
    recommendation: RecommendationPart | None = None
    degraded: list[DegradedPart] = []
    matrix: Matrix
    digest: str = Field(pattern="^[0-9a-f]{64}$")
