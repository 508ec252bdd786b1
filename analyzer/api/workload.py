"""`GET /workload`."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from analyzer.api.diagnosis_models import WorkloadGroupModel, WorkloadModel
from analyzer.api.errors import BadParameter
from analyzer.api.parameters import Asked, Provided
from analyzer.verdict.desk import FRESH_S
from analyzer.verdict.groups import GROUPS, members_by
from analyzer.verdict.workload_answer import workload

router = APIRouter(tags=["traffic"])

_BY = tuple(group for group in GROUPS if group != "cause")


@router.get("/workload", summary="Arrivals, prompts, answers, concurrency, turns")
def get_workload(
    asked: Asked,
    services: Provided,
    by: Annotated[str | None, Query(description=f"Group by one of {', '.join(_BY)}.")] = None,
) -> WorkloadModel:
    """Describe the window's traffic; groups with most requests first, at most 100."""
    if by and by not in _BY:
        raise BadParameter(f"by: {by[:64]!r} is not one of {', '.join(_BY)}", "by")
    found = services.desk.ask(asked.scope, asked.objectives, FRESH_S).diagnosis
    members = members_by(services.store, found, by or "all")
    largest = sorted(members.items(), key=lambda item: (-len(item[1]), item[0] or ""))[:100]
    groups = [WorkloadGroupModel.model_validate(asdict(workload(found, key, rows))) for key, rows in largest]
    return WorkloadModel(by=by or None, groups=groups)
