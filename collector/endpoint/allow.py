"""Decides whether a statement may run: by its syntax tree first, then by the tables it resolves to.

Everything not named here is refused.
"""

import re
from collections.abc import Sequence

from collector.endpoint.errors import Refused
from collector.endpoint.published import DATABASE, NO_TABLE, PARAMETERISED, VIEWS, callable_function
from collector.endpoint.syntax_tree import Node
from collector.endpoint.word_lists import words

_WHY = {
    "Set": "SETTINGS is not taken here",
    "Explain": "EXPLAIN is not answered here",
    "ColumnsApplyTransformer": "APPLY is not taken here: call the function itself",
}
_SETS = frozenset(
    ("in", "notin", "globalin", "globalnotin", "nullin", "notnullin", "globalnullin", "globalnotnullin")
)
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_RESOLVED_TABLE = re.compile(r" *TABLE id: .*table_name: ([^,]*)")
_RESOLVED_FUNCTION = re.compile(r" *TABLE_FUNCTION id: .*table_function_name: ([^,]*)")


def check_tree(root: Node, existing: frozenset[str]) -> str | None:
    """Return the output format the statement asks for, if any. `existing`: every table of the store.

    Raises Refused naming what is not allowed.
    """
    if root.kind != "SelectWithUnionQuery":
        raise Refused(_WHY.get(root.kind, "only a single SELECT is answered here"))
    asked = _output_format(root)
    for parent, node in root.walk():
        if node.kind not in words("node_kinds"):
            raise Refused(_WHY.get(node.kind, f"{node.kind} is not taken here"))
        if node.kind == "TableIdentifier":
            _check_table(node.value, existing)
        elif node.kind == "Function":
            _check_function(node, parent, existing)
    return asked


def check_resolved(lines: Sequence[str]) -> None:
    """Judge `EXPLAIN QUERY TREE`: the tables that the engine will read, every name resolved."""
    for line in lines:
        if found := _RESOLVED_TABLE.match(line):
            name = found[1].removeprefix(f"{DATABASE}.")
            if name not in VIEWS and name != NO_TABLE:
                raise Refused(f"{name} is not published here")
        if (found := _RESOLVED_FUNCTION.match(line)) and found[1] not in PARAMETERISED:
            raise Refused(f"the table function {found[1]} is not allowed here")


def _output_format(root: Node) -> str | None:
    """FORMAT hangs below the root beside the query; so do SETTINGS and INTO OUTFILE."""
    asked = None
    for node in root.children[1:]:
        if node.kind == "Literal":
            raise Refused("INTO OUTFILE is not taken here")
        if node.kind == "Identifier":
            asked = node.value
    if asked is not None:
        check_format(asked)
    return asked


def check_format(name: str) -> None:
    """Raise Refused when the output format is not on the list."""
    if name not in words("formats"):
        raise Refused(
            f"format {name} is not answered here; ask for one of {', '.join(sorted(words('formats')))}"
        )


def _check_table(name: str, existing: frozenset[str]) -> None:
    plain = name.removeprefix(f"{DATABASE}.")
    if not _PLAIN_NAME.fullmatch(name):
        raise Refused(f"{name!r} is no name of a view here")
    if plain in VIEWS or name == NO_TABLE:
        return
    # What is no table of the store is a name of a WITH clause, or unknown to the engine.
    if "." in name or name in existing:
        raise Refused(
            f"{name} is not published here; read one of {', '.join(sorted((*VIEWS, *PARAMETERISED)))} "
            "(a WITH clause cannot take the name of a table of the store)"
        )


def _check_function(node: Node, parent: Node, existing: frozenset[str]) -> None:
    if parent.kind == "TableExpression":
        if node.value.removeprefix(f"{DATABASE}.") not in PARAMETERISED:
            raise Refused(f"the table function {node.value} is not allowed here")
        return
    if not _PLAIN_NAME.fullmatch(node.value) or not callable_function(node.value):
        raise Refused(f"the function {node.value} is not allowed here")
    if node.value.lower() in _SETS and node.children:
        right = node.children[0].children[-1]
        if right.kind == "Identifier":
            _check_table(right.value, existing)
