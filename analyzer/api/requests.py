"""`GET /requests` and `GET /requests/{id}`."""

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import JSONResponse

from analyzer.api import kept_causes, request_causes, request_rows, request_shape
from analyzer.api.errors import BadParameter, NotFound
from analyzer.api.models import RequestDetailModel, RequestsModel
from analyzer.api.parameters import Asked, Asking, Provided
from analyzer.api.request_rows import Filter
from analyzer.beside import beside
from analyzer.verdict.desk import FRESH_S
from analyzer.verdict.quoted import of_one
from analyzer.verdict.vocabulary import Cause

router = APIRouter(tags=["requests"])

Outcome = Literal["ok", "cancelled", "interrupted", "rejected", "invalid", "timeout", "error"]


@router.get("/requests", summary="Requests of the window")
def list_requests(
    asked: Asked,
    services: Provided,
    outcome: Annotated[Outcome | None, Query(description="Only requests that ended so.")] = None,
    missed: Annotated[bool | None, Query(description="true: missed an objective; false: met both.")] = None,
    cause: Annotated[Cause | None, Query(description="Only requests with this primary cause.")] = None,
    order: Annotated[
        Literal["newest", "slowest"], Query(description="By start, or by TTFT (censored: at least its age).")
    ] = "newest",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before.")] = None,
) -> RequestsModel:
    """List requests that started in the window, with how they were judged.

    Pages are stable while requests arrive: the cursor names the last request seen, not a number of rows.
    """
    account = {None: "", True: "missed", False: "met"}[missed]
    filter_ = Filter(outcome or "", account, cause or "", order)
    if cause and cause is not Cause.NONE:
        found = services.desk.ask(asked.scope, asked.objectives, FRESH_S).diagnosis
        page = request_causes.page(services.store, found, asked, filter_, cursor, limit)
        causes = request_causes.causes(found, page.rows)
    else:
        page = request_rows.page(services.store, asked.scope, asked.objectives, filter_, cursor, limit)
        misses = [row for row in page.rows if row["met"] == 0]
        causes = kept_causes.causes_of(services.store, services.desk, asked, misses)
    shown = [request_shape.request(row, asked.objectives, causes.get(row["key"])) for row in page.rows]
    return RequestsModel(requests=shown, next_cursor=page.next_cursor, total=page.total)


@router.get(
    "/requests/{id:path}",
    summary="One request with its timeline",
    response_model=RequestDetailModel,
    responses={300: {"model": RequestsModel, "description": "Several requests bear the id: ask by `key`"}},
)
def one_request(
    id_: Annotated[
        str,
        Path(
            alias="id",
            min_length=1,
            max_length=512,
            description="Key (32 hex digits), request id, client request id, trace id, or the answer's id.",
        ),
    ],
    asked: Asked,
    services: Provided,
    asking: Asking,
) -> Response | RequestDetailModel:
    """Find one request by any of its ids, whenever it was; of the common parameters the objective counts."""
    if "\0" in id_:
        raise BadParameter("id: must not contain NUL", "id")
    rows = request_rows.matching(services.store, asked.objectives, id_, asking.tenant or "")
    if not rows:
        raise NotFound(
            f"no request with key, request id, client request id, trace id or answer id {id_[:128]!r}", "id"
        )
    if len(rows) == 1:
        with beside() as reads:
            told = reads(request_rows.timeline, services.store, rows[0])
            verdict, clocks = request_causes.verdict(services.store, services.desk, asked.objectives, rows[0])
        row = told.result()
        if verdict:
            verdict = replace(verdict, evidence=of_one(verdict.evidence, row["intervals"]))
        return request_shape.detail(row, asked.objectives, verdict, clocks)
    shown = [request_shape.request(row, asked.objectives) for row in rows]
    several = RequestsModel(requests=shown, next_cursor=None, total=len(shown))
    return JSONResponse(several.model_dump(mode="json"), 300)
