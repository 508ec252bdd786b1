"""The page of figures: what a run found, put where the page keeps it."""

import json
from pathlib import Path
from xml.etree import ElementTree

from .accuracy import BEGIN, END, main
from .run import _document, _parser
from .scenario import scenario
from .score import Judged, judge, report


def said(index: int, cause: str | None, removed: str = "") -> Judged:
    shown = scenario(1, index)
    answer = {"dominant_cause": cause or shown.truth.dominant, "confidence": 0.93, "settled": True}
    return judge(shown, answer, removed=removed)


def test_figures_replace_those_of_the_last_run_and_nothing_else(tmp_path: Path) -> None:
    judged = [said(0, None), said(1, None), said(2, "tokenizer_slow"), said(3, "insufficient_evidence")]
    less = [said(1, "insufficient_evidence", "phase:decode")]
    document = _document(_parser().parse_args(["--seed", "1"]), report(judged, less), judged, less)
    result, page, drawing = (tmp_path / name for name in ("result.json", "accuracy.md", "curve.svg"))
    result.write_text(json.dumps(document))
    page.write_text(f"# Accuracy\n\n{BEGIN}old\n{END}\n## Limits\n")

    assert main([str(result), str(page), str(drawing)]) == 0

    text = page.read_text()
    assert text.startswith("# Accuracy\n")
    assert text.endswith("## Limits\n")
    assert "old" not in text
    assert "Seed 1: 4 scenarios" in text
    assert "![Confidence against the share of right answers](curve.svg)" in text
    assert f"| `{judged[2].truth}` | 0 | `tokenizer_slow` 1 |" in text
    assert "| `phase:decode` | 0 | 1 | 0 |" in text
    assert len(ElementTree.fromstring(drawing.read_text()).findall("{*}circle")) == 1
