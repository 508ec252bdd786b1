"""`GET /slo/report`."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import Response

from analyzer.api.errors import BadParameter
from analyzer.api.models import AccountingModel, AttainmentModel, WindowModel
from analyzer.api.negotiation import wanted
from analyzer.api.parameters import Asked, Asking, Gpus, Provided
from analyzer.api.report_models import (
    GroupFiguresModel,
    ReportModel,
    ReportObjectiveModel,
    efficiency_model,
)
from analyzer.api.slo import objective_fields
from analyzer.api.times import rfc3339
from analyzer.report.html import html
from analyzer.report.markdown import markdown
from analyzer.report.slo_csv import slo_csv
from analyzer.report.slo_document import slo_document
from analyzer.slo.groups import Group
from analyzer.slo.report import Report, report
from analyzer.slo.scope import Scope

router = APIRouter(tags=["objectives"])

MEDIA = {"json": "application/json", "csv": "text/csv", "html": "text/html", "md": "text/markdown"}
"""Formats, the default first."""

_HTML_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
_DOCUMENTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {media: {"schema": {"type": "string"}} for media in list(MEDIA.values())[1:]}}
}


@router.get(
    "/slo/report", summary="The SLO report of a window", response_model=ReportModel, responses=_DOCUMENTS
)
def slo_report(
    asked: Asked,
    services: Provided,
    asking: Asking,
    gpus: Gpus = None,
    format: Annotated[
        str | None, Query(description=f"One of {', '.join(MEDIA)}; default: what Accept says.")
    ] = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> ReportModel | Response:
    """Attainment, goodput, budget, burn rates, outcomes and cost: by objective, together, and by label."""
    if format and format not in MEDIA:
        raise BadParameter(f"format: {format[:64]!r} is not one of {', '.join(MEDIA)}", "format")
    chosen = format or wanted(accept, MEDIA)
    made = report(services.store, asked.scope, asked.objectives, gpus, only_tenant=asking.tenant or "")
    if chosen == "json":
        return _model(made)
    headers = {"Content-Disposition": f'inline; filename="slo-report.{chosen}"', "Vary": "Accept"}
    if chosen == "csv":
        return Response(slo_csv(made), media_type=MEDIA[chosen], headers=headers)
    document = slo_document(made, _minutes(asked.scope), _asked(asked.scope))
    if chosen == "md":
        return Response(markdown(document), media_type=MEDIA[chosen], headers=headers)
    headers["Content-Security-Policy"] = _HTML_POLICY
    return Response(html(document), media_type=MEDIA[chosen], headers=headers)


def _minutes(scope: Scope) -> tuple[str, str]:
    """The window to the second, as people write it."""
    return rfc3339(scope.from_ns)[:19] + "Z", rfc3339(scope.to_ns)[:19] + "Z"


def _asked(scope: Scope) -> str:
    labels = {name: value for name, value in asdict(scope).items() if isinstance(value, str) and value}
    return ", ".join(f"{name} {value}" for name, value in labels.items())


def _model(made: Report) -> ReportModel:
    scope = made.scope
    return ReportModel(
        window=WindowModel.model_validate({"from": rfc3339(scope.from_ns), "to": rfc3339(scope.to_ns)}),
        objectives=[
            ReportObjectiveModel(**objective_fields(item), efficiency=efficiency_model(item.efficiency))
            for item in made.objectives
        ],
        total=_group(made.total),
        groups={label: [_group(item) for item in groups] for label, groups in made.groups.items()},
        left_out=made.left_out,
    )


def _group(item: Group) -> GroupFiguresModel:
    return GroupFiguresModel(
        key=item.key,
        requests=AccountingModel(**asdict(item.requests)),
        attainment=AttainmentModel(ttft=item.ttft, tpot=item.tpot, joint=item.joint),
        goodput_rps=item.goodput_rps,
        budget_left=item.budget.left,
        burn_rates=item.budget.burn_rates,
        efficiency=efficiency_model(item.efficiency),
    )
