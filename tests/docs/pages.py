"""The pages that users read, and the code in them."""

import re
import shlex
from pathlib import Path

from tests.paths import PROJECT

PAGES = [PROJECT / "README.md", PROJECT / "CHANGELOG.md", *sorted((PROJECT / "docs").glob("*.md"))]
RUNBOOKS = sorted((PROJECT / "docs/runbooks").glob("*.md"))

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")


def name(page: Path) -> str:
    return str(page.relative_to(PROJECT))


def blocks(page: Path, language: str) -> list[str]:
    """Fenced blocks of a language, without their indentation."""
    found = _FENCE.findall(page.read_text())
    return [
        "\n".join(line.removeprefix(indent) for line in code.splitlines())
        for indent, spoken, code in found
        if spoken == language
    ]


def commands(page: Path) -> list[list[str]]:
    """Whole pdscope command lines of code blocks, fenced or indented, as lists of words."""
    return [_words(line) for line in shell_lines(page) if line.startswith("pdscope ")]


def shell_lines(page: Path) -> list[str]:
    """Everything a reader may type: lines of `sh` blocks, lines after `$ ` of `console` blocks, and those of
    plain or indented blocks that begin with a command.
    """
    typed = [line for block in blocks(page, "sh") for line in block.splitlines() if line.strip()]
    told = [line for block in blocks(page, "console") for line in block.splitlines()]
    plain = [line for block in blocks(page, "") for line in block.splitlines()]
    plain += re.findall(r"^    (\S.*)$", page.read_text("utf-8"), re.MULTILINE)
    lines = [
        *(line.strip() for line in typed if not line.lstrip().startswith("#")),
        *(line.removeprefix("$ ") for line in told if line.startswith("$ ")),
        *(line for line in plain if re.match(r"(pdscope|curl|make|python|docker|kubectl) ", line)),
    ]
    return [re.sub(r"\s+#\s.*$", "", line) for line in dict.fromkeys(lines)]


def mentions(page: Path) -> list[list[str]]:
    """Command lines within sentences: they may leave out what the sentence is not about."""
    return [_words(code) for code in _INLINE.findall(page.read_text()) if code.startswith("pdscope ")]


def _words(line: str) -> list[str]:
    words = shlex.split(re.sub(r"\s[>#].*$", "", line))[1:]
    return [word for word in words if word != "…"]


def anchors(page: Path) -> set[str]:
    """What a link may point to within a page, as GitHub makes it of headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", page.read_text())
