"""One request's lanes, a layout above the other: where its time goes in each."""

from analyzer.plan.document import Json
from analyzer.plan.plots.canvas import LETTER_PX, Canvas, Scale

ROW = 30
TOP, BOTTOM, RIGHT = 66, 30, 16
LONGEST = 3.0
"""A path longer than so many times the middle one is cut off, and says so."""
NAMES = {
    "prefill_queue": "waits for prefill",
    "prefill_compute": "prefill",
    "kv_transfer": "KV hand-off",
    "decode_queue": "waits for a step",
    "decode": "decode",
}


def one_request(document: Json, width: int) -> Canvas:
    """The same request, on one clock from its arrival, under every layout that is shown."""
    shown = document["one_request"]
    paths = shown["paths"] if shown else []
    lines = _legend_lines(width)
    top = TOP + 16 * (len(lines) - 1)
    height = top + ROW * len(paths) + BOTTOM
    canvas = Canvas(width, height, f"One request under {len(paths)} layouts, modelled")
    if not shown:
        return canvas
    canvas.text(
        4,
        14,
        f"{shown['prompt']:,} prompt tokens ({shown['cached']:,} cached), {shown['output']:,} out",
        "quiet",
    )
    _legend(canvas, lines)
    left = max((len(path["layout"]) for path in paths), default=0) * LETTER_PX + 16
    x = Scale(0, _reach(paths), left, width - RIGHT)
    for tick in x.ticks:
        canvas.add("line", "rule", x1=x(tick), x2=x(tick), y1=top - 6, y2=height - BOTTOM + 4)
        canvas.text(x(tick), height - 10, f"{tick:g} s", "quiet", "middle")
    for k, path in enumerate(paths):
        _lane(canvas, x, top + k * ROW, path)
    objective = x(min(document["contract"]["ttft_s"], x.high))
    if document["contract"]["ttft_s"] <= x.high:
        canvas.add("line", "objective", "TTFT objective", x1=objective, x2=objective, y1=top - 6,
                   y2=height - BOTTOM + 4)  # fmt: skip
    return canvas


def _reach(paths: list[Json]) -> float:
    """Seconds to draw: all, unless a few paths are so long that the others could not be seen."""
    ends = sorted(path["parts"][-1]["end_s"] for path in paths if path["parts"])
    return min(ends[-1], LONGEST * ends[len(ends) // 2]) if ends else 1.0


def _lane(canvas: Canvas, x: Scale, y: float, path: Json) -> None:
    canvas.text(8, y + 15, path["layout"])
    if not path["parts"]:
        canvas.text(x.start + 4, y + 15, "not served", "quiet")
    for part in path["parts"]:
        seconds = part["end_s"] - part["start_s"]
        if part["start_s"] >= x.high:
            continue
        hint = f"{NAMES[part['part']]} on {part['worker']}: {seconds:.3g} s from {part['start_s']:.3g} s"
        canvas.add("rect", f"part-{part['part']}", hint, x=x(part["start_s"]), y=y + 3,
                   width=max(x(min(part["end_s"], x.high)) - x(part["start_s"]), 0.7), height=17)  # fmt: skip
    if path["parts"] and path["parts"][-1]["end_s"] > x.high:
        canvas.text(x.end - 6, y + 15, f"› {path['parts'][-1]['end_s']:.3g} s", "over", "end")


def _legend_lines(width: int) -> list[list[str]]:
    """Names of the parts in as many lines as the width takes."""
    lines: list[list[str]] = [[]]
    used = 0.0
    for part, name in NAMES.items():
        wide = len(name) * LETTER_PX + 28
        if lines[-1] and used + wide > width - 8:
            lines.append([])
            used = 0.0
        lines[-1].append(part)
        used += wide
    return lines


def _legend(canvas: Canvas, lines: list[list[str]]) -> None:
    for k, parts in enumerate(lines):
        x, y = 4.0, 36 + 16 * k
        for part in parts:
            canvas.add("rect", f"part-{part}", x=x, y=y - 10, width=12, height=12)
            canvas.text(x + 17, y, NAMES[part], "quiet")
            x += len(NAMES[part]) * LETTER_PX + 28
