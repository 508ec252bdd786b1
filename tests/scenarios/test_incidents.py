"""The page's figures about replayed incidents."""

import json
from pathlib import Path

from .incidents import main


def case(want: str, said: str, accepted: bool) -> dict[str, object]:
    return {"seed": 3, "want": want, "dominant_cause": said, "accepted": accepted}


def test_the_page_says_what_each_incident_was_said_to_be(tmp_path: Path) -> None:
    results = [case("a", "a", True), case("a", "b", True), case("c", "a", False)]
    run = {
        "passed": 20,
        "failed": 1,
        "cases": 3,
        "dominant_exact": 1,
        "dominant_accepted": 2,
        "results": results,
    }
    (tmp_path / "run.json").write_text(json.dumps(run))
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- incidents -->\nold\n<!-- end of incidents -->\nafter\n")
    assert main([str(tmp_path / "run.json"), str(page)]) == 0
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| 3 | 3 | 20 | 1 | 1 | 2 |" in text
    assert "| `a` | 2 | 1 | `b` 1 | 0 |" in text
    assert "| `c` | 1 | 0 | `a` 1 | 1 |" in text
