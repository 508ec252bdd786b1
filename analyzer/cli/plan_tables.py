"""How `pdscope plan` and `pdscope receipt` print: rich tables, or JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from analyzer.plan.evaluate import Contract, Evaluation
from analyzer.plan.findings import Findings
from analyzer.plan.kv_cost import transfer_to_recompute
from analyzer.plan.layout import Settings
from analyzer.plan.model_config import ModelShape
from analyzer.plan.sizing import NO_PERCENTILE, Check, Lever

console = Console()


def _json(data: Any) -> None:
    print(json.dumps(data, indent=2, allow_nan=False))


def _s(value: float | None, digits: int = 2, scale: float = 1.0) -> str:
    return "–" if value is None else f"{value * scale:.{digits}f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def show_evaluations(found: Sequence[Evaluation], contract: Contract, as_json: bool) -> None:
    """A table per workload, a row per layout."""
    if as_json:
        _json([_evaluation(evaluation) for evaluation in found])
        return
    objective = contract.objective
    title = f"Modelled. Objectives: TTFT {objective.ttft_s:g} s, TPOT {objective.tpot_s * 1000:g} ms"
    console.print(title, highlight=False)
    for workload in dict.fromkeys(e.workload for e in found):
        among = [e for e in found if e.workload == workload]
        console.print(_evaluations(workload, among))
        for e in among:
            if not e.accepted:
                console.print(f"{e.layout.name}: {e.reasons[0]}", highlight=False, markup=False)


def _table(title: str) -> Table:
    return Table(
        title=escape(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )


def _evaluations(workload: str, found: Sequence[Evaluation]) -> Table:
    table = _table(workload)
    table.add_column("layout")
    for name in ("TTFT50 s", "TTFT95 s", "TPOT50 ms", "TPOT95 ms", "ITL99 ms", "met"):
        table.add_column(name, justify="right", no_wrap=name == "met")
    table.add_column("verdict", no_wrap=True)
    for e in found:
        f = e.figures
        table.add_row(
            e.layout.name, _s(f.ttft50_s), _s(f.ttft95_s), _s(f.tpot50_s, 1, 1e3),
            _s(f.tpot95_s, 1, 1e3), _s(f.itl99_s, 0, 1e3), _percent(f.met),
            "[green]accepted" if e.accepted else "[red]refused",
        )  # fmt: skip
    return table


def _evaluation(e: Evaluation) -> dict[str, Any]:
    return {
        "label": "modelled",
        "layout": e.layout.name,
        "workload": e.workload,
        "accepted": e.accepted,
        "reasons": list(e.reasons),
        "queues": [queue for check in e.checks for queue in _queues(check)],
        "figures": {**asdict(e.figures), "met": e.figures.met},
    }


def _queues(check: Check) -> list[dict[str, Any]]:
    return [
        {
            "moment": check.moment,
            **asdict(queue),
            "utilisation": None if queue.utilisation == inf else queue.utilisation,
        }
        for queue in check.queues
    ]


@dataclass(frozen=True)
class Sized:
    """The checks of one layout under one workload, and the input that moves them most."""

    workload: str
    checks: list[Check]
    lever: Lever

    @property
    def refused(self) -> bool:
        """Whether mean or p95 demand is refused."""
        return any(check.refused for check in self.checks if check.moment != "peak")


def show_sizes(found: Sequence[Sized], kv_room: int, as_json: bool) -> None:
    """A table per workload, a row per layout and moment of demand."""
    if as_json:
        _json({"label": "modelled", "kv_tokens_per_instance": kv_room, "percentiles": None,
               "percentiles_reason": NO_PERCENTILE, "sizes": [_sized(sized) for sized in found]})  # fmt: skip
        return
    console.print("Modelled from means; utilisation of each queue", highlight=False)
    for workload in dict.fromkeys(sized.workload for sized in found):
        console.print(_sizes(workload, [sized for sized in found if sized.workload == workload]))
    console.print(
        f"KV room per instance: {kv_room:,} tokens. No percentiles: {NO_PERCENTILE}.", highlight=False
    )


def _sizes(workload: str, found: Sequence[Sized]) -> Table:
    table = _table(workload)
    for name in ("layout", "demand", "queues", "dominant", "moved most by (+10 %)", "verdict"):
        table.add_column(name)
    for sized in found:
        for check in sized.checks:
            first = check is sized.checks[0]
            queues = ", ".join(f"{queue.name} {queue.utilisation:.2f}" for queue in check.queues)
            verdict = f"[red]{escape(check.refused)}" if check.refused else "[green]below the ceiling"
            lever = f"{sized.lever.name} ({sized.lever.change:+.3f})" if first else ""
            table.add_row(
                check.layout.name if first else "", check.moment, queues, check.dominant.name, lever, verdict,
            )  # fmt: skip
    return table


def _sized(sized: Sized) -> dict[str, Any]:
    return {
        "layout": sized.checks[0].layout.name,
        "workload": sized.workload,
        "refused": [check.refused for check in sized.checks if check.refused],
        "dominant": {check.moment: check.dominant.name for check in sized.checks},
        "moved_most_by": asdict(sized.lever),
        "queues": [queue for check in sized.checks for queue in _queues(check)],
    }


def show_kv(
    shape: ModelShape,
    per_token: float,
    per_rank: float,
    settings: Settings,
    parameters_known: bool,
    as_json: bool,
) -> None:
    """KV bytes and the hand-off of one model; no prefill time when its parameters are not known."""
    transfer, compute = settings.transfer, settings.model.compute_s_per_token
    data: dict[str, Any] = {
        "label": "modelled",
        "model": shape.name,
        "layers": shape.layers,
        "values_per_token": shape.values_per_token,
        "bytes_per_token": per_token,
        "bytes_per_token_fullest_rank": per_rank,
        "effective_bytes_per_s": transfer.link.effective_bytes_per_s,
        "transfer_us_per_token": transfer.seconds_per_token * 1e6,
        "prefill_us_per_token": compute * 1e6 if parameters_known else None,
        "transfer_to_recompute": transfer_to_recompute(transfer, compute) if parameters_known else None,
    }
    if not parameters_known:
        data["reason"] = "prefill time needs the model's parameters: --parameters or --deployment"
    if as_json:
        _json(data)
        return
    table = Table(title="Modelled KV cost", title_justify="left", show_header=False)
    for name, value in data.items():
        digits = ",.4g" if isinstance(value, float) and value < 1000 else ",.0f"
        table.add_row(
            name, "–" if value is None else format(value, digits) if isinstance(value, float) else str(value)
        )
    console.print(table)


def _alike(lines: list[str]) -> list[str]:
    """Lines `what: why`, those of one why as one, told by the first and how many more."""
    groups: dict[str, list[str]] = {}
    for line in lines:
        what, colon, why = line.partition(": ")
        groups.setdefault(why if colon else line, []).append(what if colon else "")
    return [
        why if not whats[0]
        else f"{whats[0]}{f' and {len(whats) - 1} more' if len(whats) > 1 else ''}: {why}"
        for why, whats in groups.items()
    ]  # fmt: skip


def show_findings(path: Path, findings: Findings, as_json: bool) -> None:
    """What verifying found."""
    if as_json:
        _json({"status": findings.status, **asdict(findings)})
        return
    colour = {"verified": "green", "rejected": "red", "incomplete": "yellow"}[findings.status]
    console.print(f"{escape(str(path))}: [{colour}]{findings.status}", highlight=False)
    for title, lines in (("wrong", findings.problems), ("not checked", _alike(findings.unchecked))):
        for line in lines:
            console.print(f"  {title}: {escape(line)}", highlight=False, soft_wrap=True)
    console.print(f"  worked out again: {', '.join(findings.checked) or 'nothing'}", highlight=False)
