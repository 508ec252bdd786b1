"""Shapes of `/slo/report`."""

from pydantic import BaseModel, Field

from analyzer.api.diagnosis_models import SourcedModel
from analyzer.api.models import AccountingModel, AttainmentModel, ObjectiveModel, WindowModel
from analyzer.slo.efficiency import Efficiency


class EfficiencyModel(BaseModel):
    """What the requests cost. Tokens and bytes are those of all requests; a good one met both limits.

    source: observed, derived, supplied (in the question), bounded (at least so much).
    """

    gpu_hours: SourcedModel = Field(description="Every accelerator of the workers, over the whole window")
    network_bytes: SourcedModel = Field(description="KV bytes sent to another worker")
    per_gpu_hour: dict[str, SourcedModel] = Field(
        description="good_requests, requests (answered), input_tokens, output_tokens, network_bytes"
    )
    per_good_request: dict[str, SourcedModel] = Field(
        description="requests (answered), input_tokens, output_tokens, network_bytes, gpu_seconds"
    )


class GroupFiguresModel(BaseModel):
    """Requests that share a label; each is judged by its own objective."""

    key: str | None = Field(description="null for requests without the label")
    requests: AccountingModel
    attainment: AttainmentModel
    goodput_rps: float
    budget_left: float | None = Field(description="1 - missed ÷ allowed misses of the objectives' periods")
    burn_rates: dict[str, float | None] = Field(description="Missed ÷ allowed misses over look-backs")
    efficiency: EfficiencyModel


class ReportObjectiveModel(ObjectiveModel):
    """One objective with all of its figures."""

    efficiency: EfficiencyModel


class ReportModel(BaseModel):
    """Answer of `/slo/report`."""

    window: WindowModel
    objectives: list[ReportObjectiveModel]
    total: GroupFiguresModel
    groups: dict[str, list[GroupFiguresModel]] = Field(
        description="By model, tenant, route, cohort, input_bucket, output_bucket, concurrency"
    )
    left_out: dict[str, int] = Field(description="Groups with fewer requests that are not shown, by label")


def efficiency_model(used: Efficiency) -> EfficiencyModel:
    """Put costs into their shape."""
    ratios = {
        name: {key: SourcedModel(**vars(figure)) for key, figure in getattr(used, name).items()}
        for name in ("per_gpu_hour", "per_good_request")
    }
    return EfficiencyModel(
        gpu_hours=SourcedModel(**vars(used.gpu_hours)),
        network_bytes=SourcedModel(**vars(used.network_bytes)),
        **ratios,
    )
