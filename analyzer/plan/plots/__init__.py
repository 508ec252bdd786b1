"""Plots of a what-if document as SVG: for files, and for the page, which shows them as they are."""

from collections.abc import Callable, Mapping

from analyzer.plan.document import Json
from analyzer.plan.plots.canvas import Canvas
from analyzer.plan.plots.frontier import frontier
from analyzer.plan.plots.lanes import one_request
from analyzer.plan.plots.ratios import ratios

PLOTS: Mapping[str, Callable[[Json, int], Canvas]] = {
    "frontier": frontier,
    "ratios": ratios,
    "lanes": one_request,
}
"""By file name: (document, width in pixels) to the drawing."""

__all__ = ["PLOTS", "Canvas"]
