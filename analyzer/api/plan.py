"""`POST /plan`, `GET /plan/{plan_id}`, its receipt and its plots."""

import json
from dataclasses import fields
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from analyzer.api.errors import ApiError, BadParameter, NotFound
from analyzer.api.parameters import Provided, label, window
from analyzer.api.plan_jobs import Job, Report, Work
from analyzer.api.plan_models import GridAsk, ObjectiveAsk, PlanAsk, PlanModel, ScopeAsk
from analyzer.api.services import Services
from analyzer.api.times import rfc3339
from analyzer.plan.deployment import Deployment, deployment
from analyzer.plan.errors import PlanError
from analyzer.plan.observed import MAX_OBSERVED
from analyzer.plan.observed_plan import Asked, backtest_observed, plan_observed, plan_workload
from analyzer.plan.outcome import Objective, Window
from analyzer.plan.plots import PLOTS
from analyzer.plan.receipt import Source
from analyzer.plan.whatif import Grid
from analyzer.plan.workload import Synthetic
from analyzer.slo.scope import Scope

router = APIRouter(tags=["plan"])


@router.post("/plan", status_code=202, summary="What if: other layouts for observed or supplied traffic")
def post_plan(ask: PlanAsk, services: Provided) -> PlanModel:
    """Queue a what-if (or, with `against`, a backtest) and return its id; the same question is asked once.

    Everything in its answer is modelled. One plan runs at a time; too many that wait are refused with 503.
    """
    try:
        kind, asked, work = _work(ask, services)
    except PlanError as error:
        raise ApiError(400, "bad_plan", str(error)) from error
    return PlanModel(**services.planner.submit(kind, asked, work).public())


@router.get("/plan/{plan_id}", summary="A plan and its answer")
def get_plan(plan_id: str, services: Provided) -> PlanModel:
    """How far a plan is, and its answer when it is done."""
    return PlanModel(**_find(plan_id, services).public())


@router.get("/plan/{plan_id}/receipt.json", summary="The topology receipt of a plan")
def get_receipt(plan_id: str, services: Provided) -> dict[str, Any]:
    """The receipt that `pdscope receipt verify` checks."""
    return _receipt(plan_id, services)[0]


@router.get("/plan/{plan_id}/receipt.csv", summary="The matrix of a plan's receipt", response_class=Response)
def get_matrix(plan_id: str, services: Provided) -> Response:
    """One row per scenario."""
    return Response(_receipt(plan_id, services)[1], media_type="text/csv; charset=utf-8")


@router.get(
    "/plan/{plan_id}/receipt.requests.csv.gz",
    summary="The requests a plan's receipt was made from",
    response_class=Response,
)
def get_requests(plan_id: str, services: Provided) -> Response:
    """Arrival, prompt, output and cached tokens of each: what the receipt is verified with."""
    requests = _find(plan_id, services).requests
    if requests is None:
        raise NotFound(f"plan {plan_id} is not of stored requests, or has no receipt", "plan_id")
    return Response(requests, media_type="application/gzip")


@router.get("/plan/{plan_id}/plots/{plot}.svg", summary="A plot of a plan", response_class=Response)
def get_plot(
    plan_id: str, plot: str, services: Provided,
    width: Annotated[int, Query(ge=240, le=4000, description="Pixels.")] = 800,
    bare: Annotated[bool, Query(description="Without its own style, to be put into a page.")] = False,
) -> Response:  # fmt: skip
    """frontier, ratios or lanes."""
    answer = _find(plan_id, services).answer
    if plot not in PLOTS:
        raise NotFound(f"no plot {plot[:64]!r}; there are {', '.join(PLOTS)}", "plot")
    if answer is None or not answer.get("scenarios"):
        raise NotFound(f"plan {plan_id} has nothing to draw", "plan_id")
    drawn = PLOTS[plot](answer, width).svg(own_style=not bare)
    return Response(drawn, media_type="image/svg+xml")


def _find(plan_id: str, services: Services) -> Job:
    job = services.planner.find(plan_id)
    if job is None:
        raise NotFound(f"no plan {plan_id[:64]!r}; the newest are kept, ask again with POST /plan", "plan_id")
    return job


def _receipt(plan_id: str, services: Services) -> tuple[dict[str, Any], str]:
    job = _find(plan_id, services)
    if job.receipt is None:
        raise NotFound(f"plan {plan_id} has no receipt: it is not done, or recommends nothing", "plan_id")
    return job.receipt


def _work(ask: PlanAsk, services: Services) -> tuple[str, dict[str, Any], Work]:
    """The question with its defaults filled in, and what answers it. BadParameter, PlanError."""
    if (ask.scope is None) == (ask.synthetic is None):
        raise BadParameter("scope: give either scope (stored requests) or synthetic (supplied)", "scope")
    asked, said = _asked(ask, services)
    if ask.synthetic is not None:
        if ask.against is not None:
            raise BadParameter("against: a backtest needs stored requests to compare with", "against")
        spec = Synthetic(**ask.synthetic.model_dump())
        if spec.rate_per_s * spec.until_s > MAX_OBSERVED:
            raise BadParameter(
                f"synthetic: {spec.rate_per_s:g} requests/s for {spec.until_s:g} s are more than "
                f"{MAX_OBSERVED:,}; ask for less",
                "synthetic",
            )
        return "what-if", {**said, "synthetic": ask.synthetic.model_dump()}, _supplied(spec, asked)
    assert ask.scope is not None
    scope = _scope(ask.scope, "from")
    # the same question on newer data is another one
    said |= {"scope": _shown(scope), "stored": services.store.last_sequence}
    if ask.against is None:
        return "what-if", said, _observed(scope, asked, services)
    against = _scope(ask.against, "against")

    def work(_: Job, report: Report) -> dict[str, Any]:
        return backtest_observed(services.store, scope, against, asked)

    return "backtest", {**said, "against": _shown(against)}, work


def _observed(scope: Scope, asked: Asked, services: Services) -> Work:
    def work(job: Job, report: Report) -> dict[str, Any]:
        result = plan_observed(services.store, scope, asked, _now(), report, _announcer(job))
        job.receipt = result.receipt
        job.requests = result.requests.packed() if result.requests else None
        return result.document

    return work


def _supplied(spec: Synthetic, asked: Asked) -> Work:
    def work(job: Job, report: Report) -> dict[str, Any]:
        facts, source = asked.facts, Source.synthetic(spec)
        contract = asked.contract(Window(spec.until_s / 8, spec.until_s * 7 / 8))
        result = plan_workload(
            spec.draw(), source, facts.settings(), facts.inputs(asked.by), facts.accelerators, asked,
            contract, _now(), report, _announcer(job),
        )  # fmt: skip
        job.receipt = result.receipt
        return result.document

    return work


def _announcer(job: Job) -> Any:
    def announce(line: str) -> None:
        job.announcement = line

    return announce


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _asked(ask: PlanAsk, services: Services) -> tuple[Asked, dict[str, Any]]:
    first = services.objectives().items[0]
    o, g = ask.objective or ObjectiveAsk.model_validate({}), ask.grid or GridAsk.model_validate({})
    ttft, tpot = first.ttft if o.ttft is None else o.ttft, first.tpot if o.tpot is None else o.tpot
    target = first.target if o.target is None else o.target
    chunks = tuple(dict.fromkeys(g.chunks))
    grid = Grid(
        4 if g.workers is None else g.workers, chunks, g.prefill_budget, g.headroom, g.reserve, g.degraded
    )
    if g.workers is None and ask.scope is not None:
        workers: int | None = None
    else:
        workers = grid.workers
    by = "whoever asked" if ask.deployment else "pdscope default: Llama 3 70B BF16 on 8 x H100"
    facts = deployment(ask.deployment, "deployment")
    asked = Asked(
        Objective(ttft, tpot), target, o.ceiling, grid, workers is None, facts, by, ask.served_chunk
    )
    asked.contract(Window())  # attainment and ceiling are checked here
    known = {f.name: getattr(facts, f.name) for f in fields(Deployment)}
    said = {
        "objective": {"ttft": ttft, "tpot": tpot, "target": target, "ceiling": o.ceiling},
        "grid": {**g.model_dump(), "workers": workers},
        "deployment": known,
        "served_chunk": ask.served_chunk,
    }
    return asked, json.loads(json.dumps(said))


def _scope(ask: ScopeAsk, field: str) -> Scope:
    from_ns, to_ns = window(ask.from_, ask.to)
    labels = {name: label(getattr(ask, name), name) for name in ("model", "tenant", "route", "cohort")}
    return Scope(from_ns, to_ns, **labels)


def _shown(scope: Scope) -> dict[str, Any]:
    labels = {name: getattr(scope, name) for name in ("model", "tenant", "route", "cohort")}
    return {"from": rfc3339(scope.from_ns), "to": rfc3339(scope.to_ns), **labels}
