"""Writes the figures of a run into docs/accuracy.md, and draws its calibration.

    python -m tests.scenarios.run --in-process … --json > RESULT
    python -m tests.scenarios.accuracy RESULT docs/accuracy.md docs/calibration.svg

The figures stand between the lines `<!-- figures -->` and `<!-- end of figures -->`; the rest is written by
hand.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .score import ABSTAINED

BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"
Row = dict[str, Any]


def main(arguments: Sequence[str]) -> int:
    """Write both files."""
    result, page, drawing = map(Path, arguments)
    document = json.loads(result.read_text())
    head, _, rest = page.read_text().partition(BEGIN)
    _, _, tail = rest.partition(END)
    page.write_text(head + BEGIN + figures(document, drawing.name) + END + tail)
    drawing.write_text(curve(document["report"]["calibration"]))
    return 0


def figures(document: Row, drawing: str) -> str:
    """All tables of a result."""
    report, rows = document["report"], document["scenarios"]
    parts = [
        _goals(document),
        "### By fault\n\n" + _by_fault(rows),
        "### Confusion\n\n" + _confusion(report["confusion"]),
        f"### Calibration\n\n![Confidence against the share of right answers]({drawing})\n\n"
        + _calibration(report["calibration"]),
        "### One signal taken away\n\n" + _ablation(report["ablation"]),
    ]
    return "\n" + "\n".join(parts) + "\n"


def _goals(document: Row) -> str:
    report = document["report"]
    kinds = Counter(row["kind"] for row in document["scenarios"])
    rows = [
        (
            bar["name"],
            _percent(bar["value"]),
            f"{'≥' if bar['at_least'] else '≤'} {bar['limit']:.0%}",
            "yes" if bar["passed"] else "**no**",
        )
        for bar in document["bars"]
    ]
    said = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    again = len(document["ablated"])
    return (
        f"Seed {document['seed']}: {report['scenarios']} scenarios ({said}), {again} of them again less one "
        "signal.\n\n"
        + table(("figure", "measured", "goal", "reached"), rows)
        + f"\nRight, healthy {_percent(report['accuracy']['healthy'])}, decoys "
        f"{_percent(report['accuracy']['decoy'])}; abstained {_percent(report['abstained'])} of those with "
        f"a fault. Of single requests the cause is right for {_percent(report['request_cause_accuracy'])}, "
        f"their counterfactual for {_percent(report['request_counterfactual_agreement'])}.\n"
    )


def _by_fault(rows: Iterable[Row]) -> str:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        word = "right" if row["said"] in row["acceptable"] else "abstained" if _abstained(row) else "wrong"
        for fault in row["faults"].replace("-", "none").split("+"):
            found[fault].update(("all", word))
    body = [
        (f"`{name}`", *(str(n[key]) for key in ("all", "right", "abstained", "wrong")))
        for name, n in sorted(found.items())
    ]
    return table(
        ("fault (alone, with another, or harmless)", "scenarios", "right", "abstained", "wrong"), body
    )


def _abstained(row: Row) -> bool:
    return bool(row["said"] == ABSTAINED)


def _confusion(confusion: dict[str, dict[str, int]]) -> str:
    body = [
        (f"`{truth}`", str(said.get(truth, 0)), _told(said, truth))
        for truth, said in sorted(confusion.items())
    ]
    return table(("truth", "said so", "said instead"), body)


def _told(said: dict[str, int], truth: str) -> str:
    others = sorted(((n, cause) for cause, n in said.items() if cause != truth), reverse=True)
    return ", ".join(f"`{cause}` {n}" for n, cause in others) or "–"


def _calibration(rows: Iterable[Row]) -> str:
    body = [
        (
            f"{row['from']:.1f}–{row['from'] + 0.1:.1f}",
            str(row["answers"]),
            f"{row['confidence']:.2f}",
            _percent(row["right"]),
        )
        for row in rows
    ]
    return table(("confidence", "answers", "mean", "right"), body)


def _ablation(signals: dict[str, dict[str, int]]) -> str:
    body = [
        (f"`{name}`", *(str(counts.get(word, 0)) for word in ("right", "abstained", "wrong")))
        for name, counts in sorted(signals.items())
    ]
    return table(("signal", "right", "abstained", "wrong"), body)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _percent(share: float | None) -> str:
    return "not measured" if share is None else f"{100 * share:.1f} %"


SIZE, EDGE = 360, 40


def curve(rows: Sequence[Row]) -> str:
    """SVG: mean confidence of each tenth against the share that was right; a dot's area is its answers."""
    most = max((row["answers"] for row in rows), default=1)
    dots = "".join(_dot(row, most) for row in rows)
    ticks = "".join(
        f'<text x="{_x(at)}" y="{SIZE + EDGE + 16}" text-anchor="middle">{at:g}</text>'
        f'<text x="{EDGE - 6}" y="{_y(at) + 4}" text-anchor="end">{at:g}</text>\n'
        for at in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    )
    width = SIZE + 2 * EDGE
    aside = f'text-anchor="middle" transform="rotate(-90 14 {width / 2:g})"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {width}" font-family="sans-serif" '
        f'font-size="12" fill="#333">\n<rect width="{width}" height="{width}" fill="#fff"/>\n'
        f'<path d="M{_x(0)} {_y(1)}V{_y(0)}H{_x(1)}" fill="none" stroke="#333"/>\n'
        f'<path d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}" stroke="#999" stroke-dasharray="4 4"/>\n'
        f"{ticks}{dots}"
        f'<text x="{width / 2:g}" y="{width - 6}" text-anchor="middle">confidence</text>\n'
        f'<text x="14" y="{width / 2:g}" {aside}>share right</text>\n</svg>\n'
    )


def _dot(row: Row, most: int) -> str:
    radius = 3 + 9 * (row["answers"] / most) ** 0.5
    return (
        f'<circle cx="{_x(row["confidence"])}" cy="{_y(row["right"])}" r="{radius:.1f}" fill="#2a6f97" '
        f'fill-opacity="0.75"><title>{row["answers"]} answers</title></circle>\n'
    )


def _x(value: float) -> float:
    return round(EDGE + SIZE * value, 1)


def _y(value: float) -> float:
    return round(EDGE + SIZE * (1 - value), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
