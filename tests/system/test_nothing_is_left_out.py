"""Whatever the README says is shown by a test of this folder, or is no promise."""

import ast
import re
from pathlib import Path

from tests.paths import PROJECT

README = (PROJECT / "README.md").read_text("utf-8")
NO_PROMISE = {
    "# ": "a heading",
    "## ": "a heading",
    "```sh OTEL_SERVICE_NAME=vllm-prefill": "what the sentence after it promises",
}
"""How paragraphs begin that promise nothing by themselves, and why."""


def plain(text: str) -> str:
    """Text without its line breaks."""
    return " ".join(text.split())


def quotes() -> list[str]:
    """What the tests of this folder say they show."""
    calls = [
        node
        for path in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.promise"
    ]
    return [ast.literal_eval(quote) for call in calls for quote in call.args]


def paragraphs() -> list[str]:
    """The README's paragraphs, points of lists each apart."""
    return [plain(part) for part in re.split(r"\n\s*\n|\n(?=- )", README) if part.strip()]


def test_what_is_shown_is_what_the_readme_says() -> None:
    text = plain(README)
    assert [quote for quote in quotes() if quote not in text] == []


def test_every_paragraph_is_shown_or_promises_nothing() -> None:
    shown = quotes()
    left = [part for part in paragraphs() if not any(quote in part for quote in shown)]
    assert [part for part in left if not part.startswith(tuple(NO_PROMISE))] == []


def test_what_promises_nothing_is_still_there() -> None:
    assert [start for start in NO_PROMISE if not any(part.startswith(start) for part in paragraphs())] == []
