"""Reads what `EXPLAIN AST` prints: the statement as the engine itself parsed it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_LINE = re.compile(r"( *)(\S+)(?: (.*?))??(?: \(alias .*\))?(?: \(children \d+\))?", re.DOTALL)


@dataclass
class Node:
    """One node: its kind (`Function`, `TableIdentifier` …), its name or value, and the nodes below."""

    kind: str
    value: str
    children: "list[Node]" = field(default_factory=list)

    def walk(self) -> "Iterator[tuple[Node, Node]]":
        """Every (parent, node) below this one."""
        for child in self.children:
            yield self, child
            yield from child.walk()


def parse_tree(lines: Sequence[str]) -> Node:
    """Build the tree from the lines; one space of indentation a level.

    Raises ValueError when the lines are no tree. A name with a line break in it only adds nodes, so a check
    that refuses what it does not know is not weakened by one.
    """
    stack: list[Node] = []
    for line in lines:
        found = _LINE.fullmatch(line)
        if not found:
            raise ValueError(f"not a line of a syntax tree: {line!r}")
        depth = len(found[1])
        if depth > len(stack) or (depth == 0 and stack):
            raise ValueError(f"indented by {depth} below {len(stack)} levels: {line!r}")
        node = Node(found[2], found[3] or "")
        del stack[depth:]
        if stack:
            stack[-1].children.append(node)
        stack.append(node)
    if not stack:
        raise ValueError("an empty syntax tree")
    return stack[0]
