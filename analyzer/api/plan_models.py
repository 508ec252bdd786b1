"""Shapes of `POST /plan` and `GET /plan/{id}`."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Number = float


class Strict(BaseModel):
    """A part of a question: unknown members are refused, so that a misspelt one is not passed over."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class ScopeAsk(Strict):
    """Which stored requests; as the query parameters of every other call."""

    from_: str | None = Field(None, alias="from", description="RFC 3339 or Unix seconds")
    to: str | None = None
    model: str | None = None
    tenant: str | None = None
    route: str | None = None
    cohort: str | None = None


class SyntheticAsk(Strict):
    """Supplied traffic instead of stored requests: Poisson arrivals, log-normal lengths, seeded."""

    rate_per_s: Number
    seed: int = 7
    until_s: Number = 240.0
    prompt_median: Number = 2000.0
    prompt_sigma: Number = 0.8
    prompt_max: int = 16_000
    output_median: Number = 200.0
    output_sigma: Number = 0.7
    output_min: int = 2
    output_max: int = 1500


class ObjectiveAsk(Strict):
    """What a layout must reach; what is left out is as configured."""

    ttft: Number | None = Field(None, description="seconds")
    tpot: Number | None = Field(None, description="seconds")
    target: Number | None = Field(None, description="fraction of requests that must meet both")
    ceiling: Number = Field(0.85, description="utilisation at which a queue refuses a layout")


class GridAsk(Strict):
    """The layouts to try."""

    workers: int | None = Field(
        None, description="instances of the largest layouts; null: as many as serve now"
    )
    chunks: list[int] = Field(
        [512, 2048], max_length=64, description="step budgets of colocated workers, tokens"
    )
    prefill_budget: int = Field(16_384, description="step budget of prefill workers, tokens")
    headroom: Number = Field(0.15, description="more requests that must still be served, a fraction")
    reserve: Number = Field(0.5, description="what a hand-off must leave of TTFT less prefill, a fraction")
    degraded: bool = Field(True, description="also with one worker or the link lost")


class PlanAsk(Strict):
    """A what-if; with `against` a backtest: calibrated on `scope`, compared with what `against` measured."""

    scope: ScopeAsk | None = None
    synthetic: SyntheticAsk | None = None
    against: ScopeAsk | None = None
    objective: ObjectiveAsk | None = None
    grid: GridAsk | None = None
    deployment: dict[str, Any] = Field(
        {}, description="fields of `pdscope plan deployment`; the rest as default"
    )
    served_chunk: int | None = Field(None, description="step budget of the colocated workers that served")


class PlanModel(BaseModel):
    """A plan and how far it is. `answer` is null until it is done; every figure in it is modelled."""

    id: str
    kind: Literal["what-if", "backtest"]
    state: Literal["waiting", "running", "done", "failed"]
    announcement: str | None = Field(description="what is simulated, said before it starts")
    done: int
    of: int
    error: str | None = Field(description="why it failed")
    asked: dict[str, Any]
    answer: dict[str, Any] | None
