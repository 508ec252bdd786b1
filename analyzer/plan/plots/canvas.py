"""A drawing in SVG with fixed letter sizes: in a narrow one marks move closer, its text stays readable."""

from math import ceil, floor, log10
from typing import Any
from xml.etree import ElementTree

Element = ElementTree.Element
TEXT_PX = 12
LETTER_PX = 7.0
"""About the width of a letter at that size."""

STYLE = """
.drawing{font:12px system-ui,sans-serif;--ink:#1c2733;--quiet:#5b6875;--rule:#d5dce3;--ground:#fff;
--accent:#1864ab;--bad:#b02a2a;--pale:#9db7cf;--wait:#b07d12;--compute:#1864ab;--transfer:#7a3fa0;--decode:#2b7a3d}
.ground{fill:var(--ground)}text{fill:var(--ink)}.quiet{fill:var(--quiet)}.over{fill:var(--ground)}.rule{stroke:var(--rule)}
.axis{stroke:var(--quiet)}.objective{stroke:var(--bad);stroke-dasharray:5 4}
.edge{stroke:var(--accent);fill:none;stroke-width:1.5}
.dot{fill:var(--accent);fill-opacity:.55;stroke:var(--accent)}.dot.two{fill:var(--decode);stroke:var(--decode)}
.dot.refused{fill:none;stroke-dasharray:3 2}.now{fill:var(--accent)}.denser{fill:var(--pale)}
.part-prefill_queue,.part-decode_queue{fill:var(--wait)}.part-prefill_compute{fill:var(--compute)}
.part-kv_transfer{fill:var(--transfer)}.part-decode{fill:var(--decode)}
@media(prefers-color-scheme:dark){.drawing{--ink:#e6edf3;--quiet:#9aa7b4;--rule:#2c3742;--ground:#0c1116;
--accent:#6cb0f0;--bad:#f08a8a;--pale:#3d5a78;--wait:#d9a93c;--compute:#6cb0f0;--transfer:#c293e6;--decode:#69c07d}}
"""
"""The look of a file on its own; on the page the page's own style sheet says it."""


class Canvas:
    """Elements in pixels, the origin at the upper left. `title` is what a screen reader says of it."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height = width, height
        self.root = ElementTree.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg", "class": "drawing", "role": "img", "aria-label": title,
                "viewBox": f"0 0 {width} {height}", "width": str(width), "height": str(height),
            },
        )  # fmt: skip
        self.add("rect", "ground", width=width, height=height)

    def add(self, tag: str, css: str = "", hint: str = "", **numbers: Any) -> Element:
        """An element with a class; `hint` shows under the pointer. Attribute names take _ for -."""
        attributes = {name.replace("_", "-"): _short(value) for name, value in numbers.items()}
        element = ElementTree.SubElement(self.root, tag, ({"class": css} if css else {}) | attributes)
        if hint:
            ElementTree.SubElement(element, "title").text = hint
        return element

    def text(self, x: float, y: float, said: str, css: str = "", anchor: str = "start") -> None:
        """Letters at (x, y), the base line."""
        self.add("text", css, x=x, y=y, text_anchor=anchor).text = said

    def svg(self, own_style: bool = True) -> str:
        """The drawing as text; with its own style as a file needs it."""
        if own_style and self.root[0].tag != "style":
            style = ElementTree.Element("style")
            style.text = " ".join(STYLE.split("\n"))
            self.root.insert(0, style)
        return ElementTree.tostring(self.root, encoding="unicode")


def _short(value: Any) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


class Scale:
    """Values to pixels, linear or logarithmic, with round ticks; `low` and `high` are widened to one."""

    def __init__(self, low: float, high: float, start: float, end: float, log: bool = False) -> None:
        self.log, self.start, self.end = log, start, end
        if log:
            low = max(low, 1e-9)
            self.low, self.high = 10 ** floor(log10(low)), 10 ** ceil(log10(max(high, low * 1.01)))
        else:
            step = _step(low, high)
            self.low, self.high = floor(low / step) * step, ceil(high / step - 1e-9) * step
        if self.high <= self.low:
            self.high = self.low + 1

    def __call__(self, value: float) -> float:
        """The pixel of `value`."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = log10(max(value, self.low)), log10(low), log10(high)
        pixel: float = self.start + (self.end - self.start) * (value - low) / (high - low)
        return pixel

    @property
    def ticks(self) -> list[float]:
        """Where to write numbers."""
        if self.log:
            first, last = round(log10(self.low)), round(log10(self.high))
            return [10.0**power for power in range(first, last + 1)]
        step = _step(self.low, self.high)
        return [self.low + k * step for k in range(round((self.high - self.low) / step) + 1)]


def _step(low: float, high: float) -> float:
    """A round step that cuts the range into four to eight."""
    span = max(high - low, 1e-12)
    step: float = 10 ** floor(log10(span / 4))
    return next((step * k for k in (1, 2, 5, 10) if span / (step * k) <= 6), step * 10)
