"""From the text a client sends to a statement that may run.

The engine itself reads the text: `formatQuery` writes it anew as one statement without comments, heredocs or
odd encodings, `EXPLAIN AST` shows how it parses what will run, `EXPLAIN QUERY TREE` which tables it resolves
to. What was checked is what runs, not what was sent.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from collector.endpoint.allow import check_format, check_resolved, check_tree
from collector.endpoint.errors import Failed, Refused
from collector.endpoint.limits import TAKEN
from collector.endpoint.published import DATABASE, PARAMETERISED, VIEWS
from collector.endpoint.syntax_tree import Node, parse_tree

Ask = Callable[[str, Mapping[str, str]], list[str]]
"""Runs a statement of ours on the engine, read-only and bounded, and returns the lines of its one column."""

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_STATES = re.compile(r"aggregate\s*function|\bIdentifier\s*\}", re.IGNORECASE)
_CLAUSE = re.compile(r"\b(INTO OUTFILE|SETTINGS|WITH RECURSIVE)\b")
_FORMAT = re.compile(r" FORMAT (\w+)$")
_DESCRIBE = re.compile(rf"DESCRIBE TABLE (?:`?{DATABASE}`?\.)?`?(\w+)`?(?: FORMAT (\w+))?")
_SETTINGS = re.compile(r"SELECT name, value, readonly FROM system\.settings(?: LIMIT \d+)?(?: FORMAT (\w+))?")
_SHOW = re.compile(rf"SHOW (TABLES|DATABASES)(?: FROM `?{DATABASE}`?)?(?: FORMAT (\w+))?")


@dataclass(frozen=True)
class Statement:
    """A statement that may run: its text without FORMAT, and the format it asks for."""

    sql: str
    format: str | None


def admit(text: str, params: Mapping[str, str], ask: Ask) -> Statement:
    """Check a client's text. Raises Refused with the reason, Failed when the engine cannot parse it."""
    sql = _written_anew(text, ask)
    if listing := _listing(sql):
        return listing
    if not sql.startswith(("SELECT ", "WITH ", "(SELECT ", "(WITH ", "((")):
        raise Refused("only a single SELECT is answered here")
    if found := _CLAUSE.search(_QUOTED.sub("", sql)):
        # EXPLAIN would take these for its own.
        raise Refused(f"{found[0]} is not taken here")
    if found := _STATES.search(sql):
        # A state made from bytes is parsed by the engine without suspicion; only its own are safe.
        raise Refused(f"{found[0].rstrip('} ')} is not taken here")
    tree = _tree(sql, params, ask)
    asked = check_tree(tree, frozenset(ask("SELECT name FROM system.tables WHERE database = 'default'", {})))
    bare = _FORMAT.sub("", sql) if asked else sql
    check_resolved(ask(f"EXPLAIN QUERY TREE {bare}", params))
    return Statement(bare, asked)


def _written_anew(text: str, ask: Ask) -> str:
    if "\0" in text:
        raise Refused("a statement cannot hold a zero byte")
    sql = _one_line(text, ask)
    if _one_line(sql, ask) != sql or ";" in _QUOTED.sub("", sql):
        raise Refused("the statement does not read the same when the engine writes it anew")
    return sql


def _one_line(text: str, ask: Ask) -> str:
    try:
        lines = ask("SELECT formatQuerySingleLine({statement:String})", {"statement": escaped(text)})
    except Failed as error:
        if "Multi-statements" in str(error):
            raise Refused("one statement at a time") from error
        raise
    return unescaped(lines[0]) if lines else ""


def _tree(sql: str, params: Mapping[str, str], ask: Ask) -> Node:
    try:
        return parse_tree(ask(f"EXPLAIN AST {sql}", params))
    except ValueError as error:
        raise Refused(f"the statement cannot be checked: {error}") from error


def _listing(sql: str) -> Statement | None:
    """DESCRIBE of a published view, SHOW TABLES and DATABASES, and which settings may be sent: what clients
    ask for while they connect, and query builders list.
    """
    if found := _DESCRIBE.fullmatch(sql):
        if found[1] not in VIEWS:
            raise Refused(f"{found[1]} is not published here, or takes arguments")
        if found[2]:
            check_format(found[2])
        return Statement(f"DESCRIBE TABLE {found[1]}", found[2])
    if found := _SETTINGS.fullmatch(sql):
        if found[1]:
            check_format(found[1])
        taken = _array(sorted(TAKEN))
        return Statement(
            f"SELECT name, value, toUInt8(NOT has({taken}, name)) AS readonly FROM system.settings", found[1]
        )
    if found := _SHOW.fullmatch(sql):
        if found[2]:
            check_format(found[2])
        names = sorted((*VIEWS, *PARAMETERISED)) if found[1] == "TABLES" else [DATABASE]
        return Statement(f"SELECT arrayJoin({_array(names)}) AS name", found[2])
    return None


def _array(names: Iterable[str]) -> str:
    """An array of names of ours, as a literal."""
    return "[" + ", ".join(f"'{name}'" for name in names) + "]"


def escaped(text: str) -> str:
    """Write a parameter's value as ClickHouse reads it: tab-separated escaping."""
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


_UNESCAPE = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", "0": "\0"}


def unescaped(text: str) -> str:
    """Read a tab-separated value."""
    return re.sub(r"\\(.)", lambda found: _UNESCAPE.get(found[1], found[1]), text, flags=re.DOTALL)
