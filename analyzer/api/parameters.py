"""The query parameters that all questions share."""

import math
import time
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Request

from analyzer.api.errors import BadParameter
from analyzer.api.readers import Reader
from analyzer.api.services import Services
from analyzer.api.times import parse_instant
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import POOLS, Scope

HOUR_NS = 3_600_000_000_000
_MAX_LABEL = 512

Label = Annotated[str | None, Query(description="Only requests with this label; empty means any.")]
Seconds = Annotated[float | None, Query(description="Override the configured objective, in seconds.")]

Gpus = Annotated[
    float | None,
    Query(
        gt=0, le=1e6, description="Accelerators that served the requests, where workers do not say pd.gpus."
    ),
]


def services(request: Request) -> Services:
    """Return the services of the application that answers."""
    found = request.app.state.services
    assert isinstance(found, Services)
    return found


def reader(request: Request) -> Reader:
    """Return who asks, as the guard found."""
    found = request.state.reader
    assert isinstance(found, Reader)
    return found


@dataclass(frozen=True)
class Question:
    """What is asked: which requests, judged against which objectives."""

    scope: Scope
    objectives: Objectives


def question(
    request: Request,
    from_: Annotated[
        str | None,
        Query(
            alias="from",
            description="Start of the window (RFC 3339 or Unix seconds); default: an hour before `to`.",
            examples=["2026-01-31T12:00:00Z"],
        ),
    ] = None,
    to: Annotated[
        str | None, Query(description="End of the window, exclusive; default: now.", examples=["1769864400"])
    ] = None,
    model: Label = None,
    tenant: Label = None,
    route: Label = None,
    cohort: Label = None,
    pool: Annotated[str | None, Query(description=f"One of {', '.join(POOLS)}.")] = None,
    worker: Annotated[str | None, Query(description="Prefill or decode worker of the request.")] = None,
    ttft: Seconds = None,
    tpot: Seconds = None,
    target: Annotated[float | None, Query(description="Override the target, a fraction below 1.")] = None,
) -> Question:
    """Check the shared parameters. A request belongs to the window in which it started.

    Raises BadParameter naming the parameter, Forbidden for another tenant than the caller's token reads.
    """
    given = {
        "model": model,
        "tenant": reader(request).tenant_asked(tenant or ""),
        "route": route,
        "cohort": cohort,
        "pool": pool,
        "worker": worker,
    }
    from_ns, to_ns = window(from_, to)
    scope = Scope(from_ns, to_ns, **{name: label(value, name) for name, value in given.items()})
    if scope.pool and scope.pool not in POOLS:
        raise BadParameter(f"pool: {scope.pool[:64]!r} is not one of {', '.join(POOLS)}", "pool")
    _check_number(ttft, "ttft", 86400)
    _check_number(tpot, "tpot", 86400)
    _check_number(target, "target", 1)
    configured = services(request).objectives()
    own = reader(request).tenant
    visible = configured if own is None else configured.of_tenant(own)
    return Question(scope, visible.override(ttft, tpot, target))


Asked = Annotated[Question, Depends(question)]
Provided = Annotated[Services, Depends(services)]
Asking = Annotated[Reader, Depends(reader)]


def window(from_: str | None, to: str | None) -> tuple[int, int]:
    """The window in Unix nanoseconds; by default the last hour. Raises BadParameter."""
    to_ns = parse_instant(to, "to") if to else time.time_ns()
    from_ns = parse_instant(from_, "from") if from_ else max(0, to_ns - HOUR_NS)
    if from_ns >= to_ns:
        raise BadParameter(
            "from: the window must start before it ends (`to`, or now)", "from", "bad_time_range"
        )
    return from_ns, to_ns


def label(value: str | None, field: str) -> str:
    """A label to select by; empty means any. Raises BadParameter."""
    if value and (len(value) > _MAX_LABEL or "\0" in value or not is_text(value)):
        raise BadParameter(f"{field}: at most {_MAX_LABEL} characters, no NUL, no half of a surrogate", field)
    return value or ""


def is_text(value: str) -> bool:
    """Whether text can be sent and stored: JSON may hold halves of surrogates."""
    return value.encode(errors="ignore").decode() == value


def _check_number(value: float | None, field: str, below: float) -> None:
    if value is not None and not (math.isfinite(value) and value >= 1e-9 and value < below):
        raise BadParameter(f"{field}: {value!r} is not above 0 and below {below:g}", field)
