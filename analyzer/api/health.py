"""Liveness, readiness and Prometheus metrics; no prefix."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0
from prometheus_client.openmetrics import exposition as openmetrics

from analyzer.api.models import StatusModel
from analyzer.api.parameters import Provided

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="Whether the process lives")
def healthz() -> StatusModel:
    """Answer as long as the process does; needs no token and no store."""
    return StatusModel(status="ok")


@router.get(
    "/readyz",
    summary="Whether the process can take work",
    response_model=StatusModel,
    responses={503: {"model": StatusModel, "description": "Not ready; says why"}},
)
def readyz(services: Provided) -> JSONResponse:
    """Say whether telemetry is taken in and questions are answered; needs no token."""
    readiness = services.ready()
    status = StatusModel(status="ok" if readiness.ready else "not ready", reasons=list(readiness.reasons))
    return JSONResponse(status.model_dump(), 200 if readiness.ready else 503)


@router.get("/metrics", summary="pdscope's own metrics", response_class=Response)
def metrics(request: Request, services: Provided) -> Response:
    """Answer in the Prometheus text format, or OpenMetrics when asked for."""
    if "application/openmetrics-text" in request.headers.get("accept", ""):
        return Response(openmetrics.generate_latest(services.registry), media_type=openmetrics.CONTENT_TYPE_LATEST)
    return Response(generate_latest(services.registry), media_type=CONTENT_TYPE_PLAIN_1_0_0)
