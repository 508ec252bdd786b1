"""Liveness, readiness and Prometheus metrics; no prefix."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client.exposition import choose_encoder

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
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(services.registry), media_type=content_type)
