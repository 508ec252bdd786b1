"""What a receipt says first, and the CSV matrix beside it; both read off its scenarios."""

import csv
import io
from typing import Any

MATRIX_COLUMNS = (
    "scenario",
    "layout",
    "accelerators",
    "workload",
    "measured",
    "met_count",
    "ttft50_s",
    "ttft95_s",
    "tpot50_s",
    "tpot95_s",
    "itl99_s",
    "accepted",
)


def headline(scenarios: list[dict[str, Any]]) -> dict[str, Any]:
    """The layout with the fewest accelerators that every workload accepts; colocated first, then the best."""
    by_layout: dict[str, list[dict[str, Any]]] = {}
    for scenario in scenarios:
        by_layout.setdefault(scenario["layout"]["name"], []).append(scenario)
    worst = [
        min(group, key=_worst_first) for group in by_layout.values() if all(s["accepted"] for s in group)
    ]
    if not worst:
        empty = dict.fromkeys(
            (
                "layout",
                "accelerators",
                "scenario",
                "attainment",
                "ttft95_s",
                "tpot95_s",
                "highest_utilisation",
            )
        )
        return {"label": "modelled", **empty, "statement": "No layout tried meets the contract (modelled)."}
    best = min(worst, key=_preference)
    group = by_layout[best["layout"]["name"]]
    layout = best["layout"]
    used = max(queue["utilisation"] for s in group for queue in s["queues"] if queue["moment"] == "p95")
    return {
        "label": "modelled",
        "layout": layout["name"],
        "accelerators": layout["accelerators"],
        "scenario": best["id"],
        "attainment": _attainment(best),
        "ttft95_s": best["result"]["ttft95_s"],
        "tpot95_s": best["result"]["tpot95_s"],
        "highest_utilisation": used,
        "statement": f"{layout['name']} on {layout['accelerators']} accelerators is the smallest layout "
        "tried that meets the contract (modelled).",
    }


def _attainment(scenario: dict[str, Any]) -> float:
    result = scenario["result"]
    return float(result["met_count"] / result["measured"]) if result["measured"] else 0.0


def _worst_first(scenario: dict[str, Any]) -> tuple[float, float]:
    return _attainment(scenario), -(scenario["result"]["ttft95_s"] or 0.0)


def _preference(scenario: dict[str, Any]) -> tuple[int, bool, float, str]:
    layout = scenario["layout"]
    return layout["accelerators"], layout["kind"] != "colocated", -_attainment(scenario), layout["name"]


def matrix_text(scenarios: list[dict[str, Any]]) -> str:
    """The CSV matrix: a header and one row per scenario; an empty cell is a figure that does not exist."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(MATRIX_COLUMNS)
    for scenario in scenarios:
        layout = scenario["layout"]
        flat = {
            **scenario["result"],
            "scenario": scenario["id"],
            "layout": layout["name"],
            "accelerators": layout["accelerators"],
            "workload": scenario["workload"],
            "accepted": str(scenario["accepted"]).lower(),
        }
        rows.writerow(["" if flat[column] is None else flat[column] for column in MATRIX_COLUMNS])
    return text.getvalue()
