"""What share of requests each chunk budget and each ratio of the pools serves within both objectives."""

from analyzer.plan.document import Json
from analyzer.plan.plots.canvas import LETTER_PX, Canvas, Scale

ROW = 34
TOP, BOTTOM, RIGHT = 44, 12, 52


def ratios(document: Json, width: int) -> Canvas:
    """A row per layout of as many workers as the largest: arrivals as they are, and with headroom."""
    most = max((row["workers"] for row in document["scenarios"]), default=0)
    rows = [row for row in document["scenarios"] if row["workers"] == most]
    names = list(dict.fromkeys(row["layout"] for row in rows))
    height = TOP + ROW * len(names) + BOTTOM
    canvas = Canvas(
        width, height, f"Share of requests within both objectives for {len(names)} layouts, modelled"
    )
    left = max((len(name) for name in names), default=0) * LETTER_PX + 16
    x = Scale(0, 100, left, width - RIGHT)
    asked = 100 * document["contract"]["attainment"]
    for tick in (0, 50, 100):
        canvas.add("line", "rule", x1=x(tick), x2=x(tick), y1=TOP - 8, y2=height - BOTTOM)
        canvas.text(x(tick), TOP - 12, f"{tick} %", "quiet", "middle")
    headroom = document["contract"]["headroom"]
    canvas.text(4, 14, f"within both objectives; below: {headroom:.0%} more requests", "quiet")
    for k, name in enumerate(names):
        y = TOP + k * ROW
        canvas.text(8, y + 16, name)
        for row in (row for row in rows if row["layout"] == name):
            _bar(canvas, x, y, row)
    canvas.add("line", "objective", f"{asked:g} % are asked for", x1=x(asked), x2=x(asked), y1=TOP - 8,
               y2=height - BOTTOM)  # fmt: skip
    return canvas


def _bar(canvas: Canvas, x: Scale, y: float, row: Json) -> None:
    now = row["arrivals"] == 1
    if row["met"] is None:
        canvas.text(x.start + 4, y + (14 if now else 26), "nothing measured", "quiet")
        return
    share = 100 * row["met"]
    hint = f"{row['layout']}, {row['arrivals']:g} times the arrivals: {share:.1f} %"
    if row["reasons"]:
        hint += f"; refused: {row['reasons'][0]}"
    canvas.add("rect", "now" if now else "denser", hint, x=x.start, y=y + (4 if now else 18),
               width=max(x(share) - x.start, 1.0), height=12 if now else 6)  # fmt: skip
    if now:
        canvas.text(x.end + 6, y + 15, f"{share:.1f}", "quiet")
