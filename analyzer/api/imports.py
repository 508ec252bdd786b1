"""`POST /import`: a file in, what became of its records out."""

import errno
import tempfile
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from analyzer.api.errors import ApiError, BadParameter
from analyzer.api.models import ImportModel
from analyzer.api.parameters import Provided
from collector.errors import Unavailable

router = APIRouter(tags=["telemetry"])

_BODY = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}


@router.post("/import", summary="Load a capture or a file", openapi_extra={"requestBody": _BODY})
async def import_file(
    request: Request,
    services: Provided,
    name: Annotated[
        str | None,
        Query(max_length=512, description="What the report calls the file.", examples=["run-1.otlp.pb"]),
    ] = None,
) -> ImportModel:
    """Store what a file holds; the format is told by its content.

    The body is streamed to disk first, so a connection that breaks stores nothing.
    """
    if services.importer is None:
        raise Unavailable("this process takes no imports")
    if name is not None and "\0" in name:
        raise BadParameter("name: must not contain NUL", "name")
    with tempfile.TemporaryDirectory(prefix="pdscope-import-") as directory:
        path = Path(directory) / "body"
        await _save(request, path)
        report = await run_in_threadpool(services.importer.import_file, path, name or "body")
    return ImportModel(
        name=report.name,
        format=report.format,
        exports=report.bodies,
        spans=report.spans,
        refused=dict(report.refused),
        skipped=dict(report.skipped),
        examples=report.examples,
    )


async def _save(request: Request, path: Path) -> None:
    try:
        with path.open("wb") as file:
            async for chunk in request.stream():
                await run_in_threadpool(file.write, chunk)
    except ClientDisconnect as error:
        raise ApiError(
            400, "bad_body", "the connection broke before the body ended; nothing was stored"
        ) from error
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else str(error.strerror)
        raise Unavailable(f"cannot keep the body while it is read: {reason}") from error
    if not path.stat().st_size:
        raise ApiError(400, "bad_body", "the body is empty")
