"""The one error shape: `{"error": {"code", "message", "field"}}`.

ApiError (an HTTPException)
├── BadParameter     400: a parameter cannot be what was given; names it
├── NotFound         404
├── Unlike           409: two sides differ too much to be compared
├── TooLarge         413
└── Unprocessable    422: the body was read but means nothing to pdscope
"""

import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from collector.errors import BadBody, StoreError, Unavailable

log = logging.getLogger(__name__)


class ErrorDetail(BaseModel):
    """What was wrong, for programs and for people."""

    code: str = Field(description="Stable identifier of the kind of error", examples=["bad_time_range"])
    message: str = Field(description="What was wrong, with which value, and what to do")
    field: str | None = Field(None, description="The parameter at fault", examples=["from"])


class ErrorBody(BaseModel):
    """Body of every answer that is not a success."""

    error: ErrorDetail


class ApiError(HTTPException):
    """An error with a code and, where one is at fault, a field."""

    def __init__(self, status: int, code: str, message: str, field: str | None = None):
        super().__init__(status, message)
        self.code = code
        self.field = field


class BadParameter(ApiError):
    """A parameter cannot be what was given."""

    def __init__(self, message: str, field: str, code: str = "bad_parameter"):
        super().__init__(400, code, message, field)


class NotFound(ApiError):
    """Nothing bears the given name."""

    def __init__(self, message: str, field: str | None = None):
        super().__init__(404, "not_found", message, field)


class Unlike(ApiError):
    """Two sides differ too much to be compared; the message names the difference."""

    def __init__(self, message: str):
        super().__init__(409, "unlike", message)


class TooLarge(ApiError):
    """The body exceeds a limit."""

    def __init__(self, limit: int):
        super().__init__(413, "body_too_large", f"the body is larger than {limit:,} bytes")


class Unprocessable(ApiError):
    """The body was read but means nothing to pdscope."""

    def __init__(self, message: str):
        super().__init__(422, "unprocessable", message)


_CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "body_too_large",
    422: "unprocessable",
    429: "too_many_requests",
    503: "unavailable",
}


def error_response(
    status: int, code: str, message: str, field: str | None = None, headers: dict[str, str] | None = None
) -> JSONResponse:
    """Put an error into its shape. It may quote what no encoding can send."""
    message = message.encode(errors="backslashreplace").decode()
    body = ErrorBody(error=ErrorDetail(code=code, message=message, field=field))
    return JSONResponse(body.model_dump(), status, headers=headers)


def install(app: FastAPI) -> None:
    """Answer every failure of `app` in the one shape."""
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(BadBody, _bad_body)
    app.add_exception_handler(StoreError, _store_error)
    app.add_exception_handler(Unavailable, _unavailable)
    app.add_exception_handler(Exception, _unexpected)


def _http_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = error.code if isinstance(error, ApiError) else _CODES.get(error.status_code, "error")
    field = error.field if isinstance(error, ApiError) else None
    headers = dict(error.headers) if error.headers else None
    return error_response(error.status_code, code, str(error.detail), field, headers)


def _validation_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    field = str(first["loc"][-1])
    return error_response(400, "bad_parameter", f"{field}: {first['msg']}", field)


def _bad_body(_: Request, error: Exception) -> JSONResponse:
    return error_response(400, "bad_body", str(error))


def _store_error(_: Request, error: Exception) -> JSONResponse:
    log.error("the store failed: %s", error)
    message = "the store did not answer; pdscope's log says why"
    return error_response(503, "store_unavailable", message, headers={"Retry-After": "5"})


def _unavailable(_: Request, error: Exception) -> JSONResponse:
    return error_response(503, "unavailable", str(error), headers={"Retry-After": "5"})


def _unexpected(_: Request, error: Exception) -> JSONResponse:
    log.exception("unexpected error", exc_info=error)
    return error_response(500, "internal", "pdscope failed unexpectedly; its log has the details")
