"""How `pdscope plan --from …` and `pdscope plan backtest` print: rich tables, or JSON."""

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

console = Console()
Json = dict[str, Any]


def show_answer(answer: Json, as_json: bool) -> None:
    """The document of a what-if."""
    if as_json:
        print(json.dumps(answer, indent=2, allow_nan=False))
        return
    load = answer["workload"]
    console.print(
        f"{load['name']}: {load['requests']:,} requests, {load['requests_per_s']:.3g}/s, "
        f"{load['mean_prompt']:,.0f} prompt tokens ({load['cached_share']:.0%} cached), "
        f"{load['mean_output']:,.0f} output tokens on average",
        highlight=False, soft_wrap=True, markup=False,
    )  # fmt: skip
    if answer["refused"]:
        console.print("No recommendation: ", style="red", end="")
        console.print(answer["refused"], markup=False, highlight=False, soft_wrap=True)
        return
    _calibration(answer["calibration"])
    _scenarios(answer)
    _degraded(answer["degraded"])
    _recommendation(answer)


def _calibration(found: Json | None) -> None:
    if found is None:
        console.print("Declared constants; nothing was calibrated.", highlight=False)
        return
    fits = ", ".join(f"{e['what']} within {e['median']:.1%} (p95 {e['p95']:.1%})" for e in found["errors"])
    replay = {figure["name"]: figure for figure in found["replay"]["figures"]}
    met = replay["attainment"]
    console.print(
        f"Calibrated on {found['served']}: {fits}; its replay gives {met['predicted']:.1%} attainment, "
        f"{met['measured']:.1%} were measured.",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    for note in found["notes"]:
        console.print(f"Note: {note}", markup=False, highlight=False, soft_wrap=True)


def _scenarios(answer: Json) -> None:
    contract = answer["contract"]
    table = Table(
        title=f"Modelled. TTFT {contract['ttft_s']:g} s, TPOT {contract['tpot_s'] * 1e3:g} ms for "
        f"{contract['attainment']:.4g} of requests, with {contract['headroom']:.0%} headroom",
        title_justify="left",
    )
    names = ("layout", "TTFT95 s", "TPOT95 ms", "goodput/s", "met", "met with headroom", "verdict")
    for name in names:
        table.add_column(name, justify="left" if name in ("layout", "verdict") else "right", overflow="fold")
    refused = {item["layout"]: item["reasons"] for item in answer["recommendation"]["rejected"]}
    rows = answer["scenarios"]
    for row in (row for row in rows if row["arrivals"] == 1):
        denser = [other for other in rows if other["layout"] == row["layout"] and other["arrivals"] != 1]
        reasons = refused.get(row["layout"])
        table.add_row(
            row["layout"], _number(row["ttft95_s"]), _number(row["tpot95_s"], 1e3),
            f"{row['goodput_rps']:.3g}", _share(row["met"]), _share(denser[0]["met"]) if denser else "–",
            f"[red]{escape(reasons[0])}" if reasons else "[green]meets the contract",
        )  # fmt: skip
    console.print(table)


def _degraded(rows: Sequence[Json]) -> None:
    if not rows:
        return
    table = Table(title="Modelled: what is left when something fails", title_justify="left")
    for name in ("layout", "failure", "serves on as", "met"):
        table.add_column(name, justify="right" if name == "met" else "left")
    for row in rows:
        table.add_row(row["layout"], row["mode"], row["serves"], _share(row["met"]))
    console.print(table)


def _recommendation(answer: Json) -> None:
    chosen = answer["recommendation"]
    console.print(chosen["statement"], style="bold", markup=False, highlight=False, soft_wrap=True)
    for line in chosen["considered"]:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    for lane in chosen["lanes"]:
        now = "none" if lane["now"] is None else lane["now"]
        console.print(f"  {lane['pool']}: {lane['change']}, {now} → {lane['then']}", highlight=False)
    for signal in answer["signals"]:
        calm = "" if signal["in_below"] is None else f", in below {signal['in_below']:,.4g}"
        console.print(
            f"  scale {signal['pool']} out when {signal['signal']}{' per second' if signal['per_s'] else ''} "
            f"of a worker is above {signal['out']:,.4g} {signal['unit']}{calm}: {signal['why']}",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip


def show_backtest(found: Sequence[Json], as_json: bool) -> None:
    """A row per prediction: what was said and what came."""
    if as_json:
        print(json.dumps(list(found), indent=2, allow_nan=False))
        return
    table = Table(title="Modelled beside measured", title_justify="left")
    for name in ("calibrated on", "predicted", "attainment", "error", "TTFT95", "error", "TPOT95", "error"):
        table.add_column(name, justify="left" if name in ("calibrated on", "predicted") else "right",
                         overflow="fold")  # fmt: skip
    for item in found:
        if item["refused"]:
            table.add_row(escape(item["calibrated_on"]["name"]), f"[red]refused: {escape(item['refused'])}")
            continue
        prediction = item["prediction"]
        f = {figure["name"]: figure for figure in prediction["figures"]}
        table.add_row(
            escape(item["calibrated_on"]["name"]),
            f"{prediction['layout']}, {escape(item['predicted']['name'])}",
            *_pair(f["attainment"], 100, "%"), *_pair(f["ttft95"], 1, "s"), *_pair(f["tpot95"], 1e3, "ms"),
        )  # fmt: skip
    console.print(table)


def _pair(figure: Json, scale: float, unit: str) -> tuple[str, str]:
    """Predicted / measured, and the error: points of a share, percent of a time."""
    said, came, error = figure["predicted"], figure["measured"], figure["error"]
    if error is None:
        return "–", "–"
    points = "pts" if figure["unit"] == "fraction" else "%"
    return f"{said * scale:.3g} / {came * scale:.3g} {unit}", f"{100 * error:+.1f} {points}"


def _number(value: float | None, scale: float = 1.0) -> str:
    return "–" if value is None else f"{value * scale:.3g}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"
