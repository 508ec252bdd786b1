"""Writes what replayed incidents were said to be, beside what they are, into docs/accuracy.md.

    replay_case.py run CASES --seed N --jitter F --otlp … --api … --json > RESULT
    python -m tests.scenarios.incidents RESULT… docs/accuracy.md

RESULT is what the replaying tool writes, one file a run. The figures stand between the lines
`<!-- incidents -->` and `<!-- end of incidents -->`; the rest is written by hand.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .accuracy import table

BEGIN, END = "<!-- incidents -->\n", "<!-- end of incidents -->\n"
Run = dict[str, Any]


def main(arguments: Sequence[str]) -> int:
    """Write the page."""
    *results, page = map(Path, arguments)
    head, _, rest = page.read_text().partition(BEGIN)
    _, _, tail = rest.partition(END)
    page.write_text(head + BEGIN + figures([json.loads(r.read_text()) for r in results]) + END + tail)
    return 0


def figures(runs: Sequence[Run]) -> str:
    """How each run went, and the confusion matrix over all of them."""
    return "\n" + _runs(runs) + "\n" + _confusion(case for run in runs for case in run["results"]) + "\n"


def _runs(runs: Iterable[Run]) -> str:
    rows = [
        (
            str(run["results"][0]["seed"]),
            str(run["cases"]),
            str(run["passed"]),
            str(run["failed"]),
            str(run["dominant_exact"]),
            str(run["dominant_accepted"]),
        )
        for run in runs
    ]
    heads = ("seed", "incidents", "expectations held", "not held", "cause as expected", "or accepted")
    return table(heads, rows)


def _confusion(cases: Iterable[dict[str, Any]]) -> str:
    said: dict[str, Counter[str]] = defaultdict(Counter)
    fine: dict[str, int] = Counter()
    for case in cases:
        said[case["want"]][case["dominant_cause"]] += 1
        fine[case["want"]] += case["accepted"]
    rows = [
        (
            f"`{cause}`",
            str(sum(found.values())),
            str(found[cause]),
            ", ".join(f"`{other}` {n}" for other, n in found.most_common() if other != cause) or "–",
            str(sum(found.values()) - fine[cause]),
        )
        for cause, found in sorted(said.items())
    ]
    return table(("expected", "played", "said so", "said instead", "of these not accepted"), rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
