"""TTFT against TPOT, a dot per layout: its size is goodput, the line joins those that none beats in both."""

from math import sqrt

from analyzer.plan.document import Json
from analyzer.plan.plots.canvas import LETTER_PX, Canvas, Scale

HEIGHT = 320
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 30, 46
LARGEST_PX = 13


def frontier(document: Json, width: int) -> Canvas:
    """The layouts of as many workers as the largest, under the arrivals as they are."""
    rows = [
        row for row in at_full_size(document) if row["ttft95_s"] is not None and row["tpot95_s"] is not None
    ]
    canvas = Canvas(
        width, HEIGHT, f"TTFT against TPOT of {len(rows)} layouts, modelled; dots grow with goodput"
    )
    if not rows:
        canvas.text(LEFT, HEIGHT / 2, "No layout served a measured request.", "quiet")
        return canvas
    objective = document["contract"]
    ttft = [row["ttft95_s"] for row in rows]
    tpot = [row["tpot95_s"] * 1e3 for row in rows]
    x = Scale(min(ttft), max(*ttft, objective["ttft_s"]), LEFT, width - RIGHT, log=True)
    promised = objective["tpot_s"] * 1e3
    y = Scale(min(*tpot, promised) * 0.9, max(*tpot, promised) * 1.05, HEIGHT - BOTTOM, TOP)
    _axes(canvas, x, y)
    _objectives(canvas, x, y, objective)
    _edge(canvas, x, y, rows)
    most = max(row["goodput_rps"] for row in rows) or 1.0
    taken: list[tuple[float, float]] = []
    for row in sorted(rows, key=lambda row: -row["goodput_rps"]):
        at = x(row["ttft95_s"]), y(row["tpot95_s"] * 1e3)
        size = max(3.0, LARGEST_PX * sqrt(row["goodput_rps"] / most))
        two = "two" if row["kind"] == "disaggregated" else ""
        canvas.add("circle", f"dot {two} {'' if row['accepted'] else 'refused'}".strip(), _said(row),
                   cx=at[0], cy=at[1], r=size)  # fmt: skip
        _name(canvas, row["layout"], at, size, taken)
    return canvas


def at_full_size(document: Json) -> list[Json]:
    """Scenarios of as many workers as the largest layout, arrivals as they are."""
    most = max((row["workers"] for row in document["scenarios"]), default=0)
    return [row for row in document["scenarios"] if row["workers"] == most and row["arrivals"] == 1]


def _said(row: Json) -> str:
    return (
        f"{row['layout']}: TTFT95 {row['ttft95_s']:.3g} s, TPOT95 {row['tpot95_s'] * 1e3:.3g} ms, goodput "
        f"{row['goodput_rps']:.3g}/s, {100 * (row['met'] or 0):.1f} % met, "
        f"{'accepted' if row['accepted'] else row['reasons'][0]}"
    )


def _axes(canvas: Canvas, x: Scale, y: Scale) -> None:
    for tick in y.ticks:
        canvas.add("line", "rule", x1=x.start, x2=x.end, y1=y(tick), y2=y(tick))
        canvas.text(x.start - 6, y(tick) + 4, f"{tick:g}", "quiet", "end")
    for tick in x.ticks:
        canvas.add("line", "rule", x1=x(tick), x2=x(tick), y1=y.start, y2=y.end)
        canvas.text(x(tick), y.start + 16, f"{tick:g}", "quiet", "middle")
    canvas.add("line", "axis", x1=x.start, x2=x.end, y1=y.start, y2=y.start)
    canvas.text(x.end, y.start + 34, "TTFT, 95th percentile, s", "quiet", "end")
    canvas.text(4, 16, "TPOT, 95th percentile, ms", "quiet")


def _objectives(canvas: Canvas, x: Scale, y: Scale, objective: Json) -> None:
    at_x, at_y = x(objective["ttft_s"]), y(objective["tpot_s"] * 1e3)
    hint = f"objectives: TTFT {objective['ttft_s']:g} s, TPOT {objective['tpot_s'] * 1e3:g} ms"
    canvas.add("line", "objective", hint, x1=at_x, x2=at_x, y1=y.start, y2=y.end)
    canvas.add("line", "objective", hint, x1=x.start, x2=x.end, y1=at_y, y2=at_y)


def _edge(canvas: Canvas, x: Scale, y: Scale, rows: list[Json]) -> None:
    """The line through the layouts that no other beats in TTFT and in TPOT."""
    best: list[Json] = []
    for row in sorted(rows, key=lambda row: (row["ttft95_s"], row["tpot95_s"])):
        if not best or row["tpot95_s"] < best[-1]["tpot95_s"]:
            best.append(row)
    if len(best) > 1:
        points = " ".join(f"{x(row['ttft95_s']):.1f},{y(row['tpot95_s'] * 1e3):.1f}" for row in best)
        canvas.add("polyline", "edge", points=points)


def _name(
    canvas: Canvas, name: str, at: tuple[float, float], size: float, taken: list[tuple[float, float]]
) -> None:
    """The name beside its dot, on the side where it stays within the drawing; not over another name."""
    wide = len(name) * LETTER_PX
    left = at[0] + size + 4 + wide > canvas.width - RIGHT
    spot = (at[0] - size - 4 if left else at[0] + size + 4, at[1] + 4)
    while any(abs(spot[0] - other[0]) < wide and abs(spot[1] - other[1]) < 13 for other in taken):
        spot = spot[0], spot[1] - 13 if spot[1] > TOP + 13 else spot[1] + 26
    taken.append(spot)
    canvas.text(*spot, name, anchor="end" if left else "start")
