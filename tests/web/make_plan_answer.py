"""Writes tests/web/answers/later/plan.json: what REST says of a small what-if, for the page to show.

Seeded, so the file only changes when this or the planner does: python -m tests.web.make_plan_answer
"""

import json
from pathlib import Path
from typing import Any

from analyzer.plan.deployment import Deployment
from analyzer.plan.layout import parse_layout
from analyzer.plan.observed_plan import Asked, plan_workload
from analyzer.plan.outcome import Objective, Window
from analyzer.plan.receipt import Source
from analyzer.plan.whatif import Grid
from analyzer.plan.workload import Synthetic

ANSWER = Path(__file__).parent / "answers" / "later" / "plan.json"


def plan() -> dict[str, Any]:
    """A plan that is done."""
    spec, facts = Synthetic(9, until_s=240), Deployment()
    asked = Asked(Objective(2.0, 0.012), 0.95, grid=Grid(3, (512, 2048)), facts=facts, by="a test")
    said: list[str] = []
    result = plan_workload(
        spec.draw(), Source.synthetic(spec), facts.settings(), facts.inputs("a test"), facts.accelerators,
        asked, asked.contract(Window(30, 210)), "2026-11-29T00:00:00+00:00", announce=said.append,
        served=parse_layout("1P+2D"),
    )  # fmt: skip
    grid = {"workers": 3, "chunks": [512, 2048], "headroom": 0.15}
    return {
        "id": "0123456789abcdef", "kind": "what-if", "state": "done", "announcement": said[0], "done": 20,
        "of": 20, "error": None, "asked": {"grid": grid, "served_chunk": None}, "answer": result.document,
    }  # fmt: skip


if __name__ == "__main__":
    ANSWER.write_text(json.dumps(plan(), ensure_ascii=False, separators=(",", ":")) + "\n")
