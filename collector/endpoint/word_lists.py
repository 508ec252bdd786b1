"""The lists of names in `lists/`: what may be called, asked for and sent. Everything else is refused."""

from functools import cache
from pathlib import Path


@cache
def words(name: str) -> frozenset[str]:
    """The names in `lists/<name>.txt`; lines that begin with # say what the list is."""
    text = (Path(__file__).parent / "lists" / f"{name}.txt").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return frozenset(" ".join(lines).split())


@cache
def folded(name: str) -> frozenset[str]:
    """The same in lower case, as the engine takes many names in any case."""
    return frozenset(word.lower() for word in words(name))
