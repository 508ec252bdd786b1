"""The REST application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from fastapi import FastAPI

from analyzer.api import (
    compare,
    diagnosis,
    errors,
    fleet,
    gate,
    health,
    imports,
    plan,
    reports,
    requests,
    slo,
    telemetry,
    workload,
)
from analyzer.api.errors import ErrorBody
from analyzer.api.guard import Guard
from analyzer.api.metrics import CallMetrics, StoreSize
from analyzer.api.services import Services
from analyzer.web.serve import mount
from collector.tokens import Tokens
from collector.version import own_version

PREFIX = "/api/v1"

_DESCRIPTION = """
Why a request missed its TTFT or TPOT objective on prefill/decode-disaggregated LLM serving.

Times are RFC 3339 or Unix seconds; durations are seconds; ratios are fractions;
`null` means not measured, never 0.
A request belongs to the window in which it started. Every failure has the shape
`{"error": {"code", "message", "field"}}`.
"""


def create_app(services: Services, answers: bool = True) -> FastAPI:
    """Build the application around the services of this process.

    answers: False for a process that only collects: it says how it is, and has no page and no REST.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # Each worker thread keeps a store client of its own.
        anyio.to_thread.current_default_thread_limiter().total_tokens = services.settings.query_threads
        yield
        services.planner.stop()

    app = FastAPI(
        title="pdscope",
        version=own_version(),
        description=_DESCRIPTION,
        lifespan=lifespan,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    app.state.services = services
    failures: dict[int | str, dict[str, Any]] = {
        status: {"model": ErrorBody} for status in (400, 401, 403, 404, 413, 422, 429, 503)
    }
    answering = (
        slo.router,
        reports.router,
        compare.router,
        diagnosis.router,
        fleet.router,
        workload.router,
        requests.router,
        gate.router,
        telemetry.router,
        imports.router,
        plan.router,
    )
    for routes in answering if answers else ():
        app.include_router(routes, prefix=PREFIX, responses=failures)
    app.include_router(health.router)
    if answers:
        mount(app)
    errors.install(app)
    settings = services.settings
    app.add_middleware(
        Guard,
        tokens=Tokens(settings.token, services.grants),
        body_max_bytes=settings.body_max_bytes,
        import_max_bytes=settings.import_max_bytes,
        calls_per_s=settings.api_calls_per_s,
        audit=services.audit,
    )
    app.add_middleware(CallMetrics, registry=services.registry)
    services.registry.register(StoreSize(services.store))
    return app
