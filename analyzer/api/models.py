"""Shapes of the answers; durations are seconds, ratios fractions, null means not measured."""

from pydantic import BaseModel, ConfigDict, Field

from collector.phases import DECODE_PARTS, TTFT_PARTS


class SelectorModel(BaseModel):
    """Which requests an objective is for; null matches all."""

    model: str | None
    route: str | None
    tenant: str | None
    input_bucket: str | None = Field(examples=["1-4K"])


class AccountingModel(BaseModel):
    """What became of the requests.

    total = evaluated + cancelled + invalid + incomplete; evaluated = met + missed.
    """

    total: int
    evaluated: int
    met: int
    missed: int
    rejected: int = Field(description="Refused by overload (429, 503, 529); evaluated and missed")
    errored: int = Field(description="Interrupted, timed out, failed, or a masked failure; missed")
    cancelled: int = Field(description="Left by the client; not evaluated")
    invalid: int = Field(description="Refused as wrong (other 4xx); not evaluated")
    incomplete: int = Field(description="How it ended, or its TTFT, is not known; not evaluated")
    in_flight: int | None = Field(None, description="Known from metrics only")
    oldest_in_flight_s: float | None = None


class AttainmentModel(BaseModel):
    """Fractions of evaluated requests; null when none was evaluated."""

    ttft: float | None
    tpot: float | None = Field(description="An undefined TPOT (fewer than 2 output tokens) counts as met")
    joint: float | None


class ObjectiveModel(BaseModel):
    """One objective and how far the window's requests met it."""

    name: str
    selector: SelectorModel
    ttft: float
    tpot: float
    target: float
    period_days: int
    source: str = Field(description="configured, default, or override", examples=["configured"])
    requests: AccountingModel
    attainment: AttainmentModel
    budget_left: float | None = Field(
        description="Fraction of the period's allowed misses that is left; negative: overspent"
    )
    burn_rates: dict[str, float | None] = Field(
        description="Missed ÷ allowed fraction over windows that end at `to`",
        examples=[{"5m": 0.0, "30m": 1.2, "1h": 0.9, "2h": 0.7, "6h": 0.4, "1d": 0.4, "3d": 0.4}],
    )
    goodput_rps: float = Field(description="Requests that met both objectives, per second of the window")
    requests_per_gpu_hour: float | None
    output_tokens_per_gpu_hour: float | None
    network_bytes_per_good_request: float | None
    sources: dict[str, str] = Field(
        description="How these figures are known: observed, derived, supplied, bounded (at least so)",
        examples=[{"requests_per_gpu_hour": "observed"}],
    )
    not_measured: dict[str, str] = Field(description="Why a figure is null, by its name")


class WindowModel(BaseModel):
    """The window that was answered for."""

    model_config = ConfigDict(populate_by_name=True)
    from_: str = Field(alias="from")
    to: str


class SloModel(BaseModel):
    """Answer of `/slo`."""

    window: WindowModel
    objectives: list[ObjectiveModel]


class PointModel(BaseModel):
    """One step."""

    t: str = Field(description="Start of the step, a multiple of it")
    requests: int
    evaluated: int
    met: int
    missed: int
    attainment: float | None
    goodput_rps: float
    by_cause: dict[str, int] = Field(examples=[{"insufficient_evidence": 3}])
    by_phase: dict[str, int] = Field(
        description="Misses by longest exposed phase; decode: only TPOT missed; unknown: no timeline",
        examples=[{"prefill_queue": 2, "kv_transfer": 1}],
    )


class TimeseriesModel(BaseModel):
    """Answer of `/slo/timeseries`; `step` in seconds."""

    step: int
    points: list[PointModel]


class PercentilesModel(BaseModel):
    """Percentiles of one group, in seconds."""

    key: str | None = Field(description="The label; `all` when not grouped, null for requests without it")
    count: int
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    max: float | None


class LatencyModel(BaseModel):
    """Answer of `/latency`."""

    metric: str
    unit: str = "s"
    rows: list[PercentilesModel]
    note: str | None = Field(None, description="Why there is nothing to show, when there is not")


class MetModel(BaseModel):
    """Whether the objectives were met; null when the request is not evaluated."""

    ttft: bool | None
    tpot: bool | None
    joint: bool | None


class RequestModel(BaseModel):
    """One request."""

    key: str = Field(description="32 hex digits, unique")
    request_id: str | None
    client_request_id: str | None
    trace_id: str = Field(description="32 hex digits")
    system: str | None
    model: str | None
    tenant: str | None
    route: str | None
    cohort: str | None
    started_at: str
    outcome: str | None = Field(description="null while nothing says how it ended")
    finish_reason: str | None
    http_status: int | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    attempts: int
    ttft: float | None = Field(description="Seconds; at least this long when censored")
    ttft_source: str | None = Field(examples=["router_first_token", "engine_first_token", "client"])
    ttft_uncertainty: float | None
    tpot: float | None
    e2e: float | None
    prefill_worker: str | None
    decode_worker: str | None
    objective: str = Field(description="Name of the objective it was judged against")
    met: MetModel
    cause: str | None = Field(description="null when the request is not evaluated")
    causes: dict[str, float]
    complete: bool
    censored: bool
    exposed: dict[str, float] | None = Field(
        description=f"Seconds of TTFT by part, adding up to it: {', '.join(TTFT_PARTS)}"
    )
    exposed_decode: dict[str, float] | None = Field(
        description=f"Seconds of the decode interval by part: {', '.join(DECODE_PARTS)}"
    )


class RequestsModel(BaseModel):
    """Answer of `/requests`, and of `/requests/{id}` (status 300) when several bear the id."""

    requests: list[RequestModel]
    next_cursor: str | None = Field(description="Give it as `cursor` to read on; null at the end")
    total: int = Field(description="Requests that match, on all pages")


class IntervalModel(BaseModel):
    """A span of time in one phase, or in several that cannot be told apart."""

    phase: str | None = Field(description="null for a composite")
    covers: list[str] = Field(description="The phases a composite holds; empty for a single phase")
    worker: str | None
    start: str
    end: str
    attempt: int
    source: str = Field(examples=["observed", "derived", "bounded"])
    reason: str | None


class CompositeModel(BaseModel):
    """Part of `unattributed` that is known to lie within some phases."""

    covers: list[str]
    exposed: float
    reason: str | None


class MissingModel(BaseModel):
    """A signal that the telemetry lacks."""

    signal: str
    why_it_matters: str
    how_to_get_it: str


class EvidenceModel(BaseModel):
    """One observation behind a verdict."""

    signal: str
    value: float
    unit: str
    at: str | None
    source: str


class VerdictModel(BaseModel):
    """Why the request missed, or that the telemetry cannot tell."""

    cause: str
    confidence: float | None
    evidence: list[EvidenceModel]
    counterfactual: str | None
    missing_telemetry: list[MissingModel]
    next_step: str | None = None


class ClockCorrectionModel(BaseModel):
    """By how much a worker's clock was shifted, in seconds, and how far that may be wrong."""

    worker: str
    offset: float
    uncertainty: float | None


class RoutingModel(BaseModel):
    """What its router told: why these workers, how long it held the request back, until when it counts."""

    candidates: list[str] | None
    rejected: list[str] | None
    reason: str | None
    fallback: str | None
    admission_wait: float | None = Field(description="Seconds of router_queue before it was admitted")
    deadline: str | None


class RequestDetailModel(RequestModel):
    """One request with its timeline and verdict."""

    routing: RoutingModel | None = Field(description="null when no router tells")
    error_type: str | None
    output_tokens_by: str | None = Field(
        description="Who counted output_tokens: the answer's usage, engine, router; chunks are no tokens"
    )
    ended_at: str | None
    first_token_at: str | None
    last_token_at: str | None
    phases: dict[str, float] = Field(
        description="Seconds each reported phase lasted itself (union of its intervals)"
    )
    intervals: list[IntervalModel]
    composites: list[CompositeModel]
    clock_corrections: list[ClockCorrectionModel]
    joined_by: list[str]
    notes: list[str]
    spans: int
    duplicate_spans: int
    late_spans: int
    verdict: VerdictModel | None = Field(description="null when the request is not evaluated")


class ImportModel(BaseModel):
    """What became of every record of an imported file."""

    name: str
    format: str = Field(examples=["OTLP protobuf, framed"])
    exports: int = Field(description="Export bodies stored")
    spans: int = Field(description="Spans stored")
    refused: dict[str, int] = Field(description="Spans kept out, by reason", examples=[{"bad_trace_id": 2}])
    skipped: dict[str, int] = Field(description="Records not read or not stored, by reason")
    examples: list[str] = Field(description="The first records skipped, with their place")


class StatusModel(BaseModel):
    """Answer of `/healthz` and `/readyz`."""

    status: str = Field(examples=["ok"])
    reasons: list[str] = []
