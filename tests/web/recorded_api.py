"""Answers from tests/web/answers in the shapes of the REST contract, and remembers what it was asked."""

import json
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, Response

from analyzer.plan.plots import PLOTS
from analyzer.web import mount

ANSWERS = Path(__file__).parent / "answers"
LATER = ("diagnosis", "pools", "transfers", "kv/orphans", "telemetry")
"""Calls that a pdscope may not answer yet; on only when asked for."""

PLANS: dict[str, dict[str, Any]] = {
    "0123456789abcdef": {},
    "running": {"state": "running", "done": 3, "of": 9, "answer": None},
    "failed": {"state": "failed", "error": "no requests are stored", "answer": None},
}
"""What differs from the recorded plan, by id."""

REQUEST_NAMES = ("slow", "composite", "retried", "censored", "bare")


def recorded(name: str) -> Any:
    return json.loads((ANSWERS / f"{name}.json").read_text())


def refusal(status: int, code: str, message: str, field: str | None = None) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "message": message, "field": field}}, status)


class RecordedApi:
    """`asked` holds (path, query) of every call; `later`, `down` and `token` change how it answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.reset()
        self.app = FastAPI()
        router = APIRouter(prefix="/api/v1")
        router.add_api_route("/requests/{request_id}", self.one_request)
        router.add_api_route("/plan", self.post_plan, methods=["POST"])
        router.add_api_route("/plan/{plan_id}", self.plan)
        router.add_api_route("/plan/{plan_id}/receipt.{kind}", self.receipt)
        router.add_api_route("/plan/{plan_id}/plots/{plot}.svg", self.plot)
        router.add_api_route("/{path:path}", self.collection)
        self.app.include_router(router)
        mount(self.app)

    def reset(self) -> None:
        self.asked.clear()
        self.posted: list[Any] = []
        self.later = False
        self.empty = False
        self.token: str | None = None
        self.replaced: dict[str, Response] = {}

    def queries(self, path: str) -> list[dict[str, str]]:
        return [query for asked, query in self.asked if asked == path]

    def refused(self, request: Request, path: str) -> Response | None:
        self.asked.append((path, dict(request.query_params)))
        if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
            return refusal(401, "no_token", "send Authorization: Bearer <token>")
        return self.replaced.get(path)

    async def post_plan(self, request: Request) -> Response:
        self.posted.append(await request.json())
        return self.refused(request, "plan") or JSONResponse(
            {**recorded("later/plan"), "state": "waiting"}, 202
        )

    def plan(self, request: Request, plan_id: str) -> Response:
        refused = self.refused(request, f"plan/{plan_id}")
        if refused:
            return refused
        if plan_id not in PLANS:
            return refusal(404, "not_found", f"no plan {plan_id!r}", "plan_id")
        return JSONResponse({**recorded("later/plan"), **PLANS[plan_id]})

    def receipt(self, request: Request, plan_id: str, kind: str) -> Response:
        return self.refused(request, f"plan/{plan_id}/receipt.{kind}") or Response(f"a receipt, {kind}")

    def plot(self, request: Request, plan_id: str, plot: str) -> Response:
        """Drawn as REST draws it."""
        width = int(request.query_params["width"])
        drawn = PLOTS[plot](recorded("later/plan")["answer"], width).svg(own_style=False)
        return Response(drawn, media_type="image/svg+xml")

    def one_request(self, request: Request, request_id: str) -> Response:
        refused = self.refused(request, f"requests/{request_id}")
        if refused:
            return refused
        if request_id == "shared-id":
            several = [recorded("request.slow"), recorded("request.bare")]
            return JSONResponse({"requests": several}, 300)
        for name in REQUEST_NAMES:
            answer = recorded(f"request.{name}")
            if request_id in (name, answer["key"]):
                return JSONResponse(answer)
        return refusal(404, "no_such_request", f"no request bears the id {request_id!r}", "id")

    def collection(self, request: Request, path: str) -> Response:
        refused = self.refused(request, path)
        if refused:
            return refused
        query = request.query_params
        if path in LATER:
            name = f"later/{path.replace('/', '.')}"
            return (
                JSONResponse(recorded(name)) if self.later else refusal(501, "not_here", "not answered yet")
            )
        if path == "requests":
            return self.requests(query.get("order", "newest"), int(query.get("limit", 100)))
        if path == "latency":
            return JSONResponse(recorded(f"latency.{query['metric']}.{query.get('by', 'all')}"))
        if path in ("slo", "slo/timeseries"):
            return JSONResponse(recorded(path.replace("/", ".")))
        return refusal(404, "no_such_call", f"no call /{path}")

    def requests(self, order: str, limit: int) -> Response:
        if self.empty:
            return JSONResponse({"requests": [], "next_cursor": None, "total": 0})
        answer = recorded(f"requests.{order}")
        more = limit < len(answer["requests"])
        shown = answer["requests"][:limit]
        return JSONResponse({**answer, "requests": shown, "next_cursor": "more" if more else None})
