"""YAML settings files whose every value knows its file and line, so that an error can name them."""

import difflib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from collector.errors import ConfigError

_MAX_BYTES = 1 << 20
_MAX_NODES = 50_000
_MAX_BITS = 1024
_BREAKAGES = (ValueError, RecursionError, AttributeError, LookupError, TypeError)
"""What PyYAML raises beside its own errors: on values that are not what their tag says, and nesting."""


@dataclass(frozen=True)
class Node:
    """One value of a file: a scalar, a list of nodes, or a dictionary of nodes."""

    where: str
    """`file:line`, for messages."""
    value: Any

    def error(self, problem: str) -> ConfigError:
        """Return an error about this value, naming its place."""
        return ConfigError(f"{self.where}: {problem}")

    def fields(self, what: str, known: Collection[str]) -> dict[str, "Node"]:
        """Return the members of a mapping, `what` in messages. Raises ConfigError on an unknown key."""
        if not isinstance(self.value, dict):
            raise self.error(f"{what} must be a mapping of {', '.join(sorted(known))}, not {self.value!r}")
        for key, node in self.value.items():
            if key not in known:
                raise node.error(f"{what}: unknown key {key!r}; {nearest(key, known)}")
        return self.value

    def items(self, what: str) -> list["Node"]:
        """Return the members of a list. Raises ConfigError when the value is not a list."""
        if not isinstance(self.value, list):
            raise self.error(f"{what} must be a list")
        return self.value


def nearest(key: str, known: Collection[str]) -> str:
    """Words that lead from an unknown key to the known one it most resembles."""
    matches = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    if matches:
        return f"did you mean {matches[0]!r}?"
    return f"known keys are {', '.join(sorted(known))}"


def read_config(path: Path) -> Node:
    """Read one YAML document. Raises ConfigError naming the file, and the line when it is not valid YAML."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise ConfigError(f"{path}: larger than {_MAX_BYTES:,} bytes; this is not a settings file")
        text = data.decode("utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from error
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        return (
            Node(f"{path}:1", None)
            if root is None
            else _convert(root, loader, path, 0, iter(range(_MAX_NODES)))
        )
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise ConfigError(f"{path}{line}: not valid YAML: {error.problem}") from error
    except (yaml.YAMLError, *_BREAKAGES) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(f"{path}: not valid YAML: {said[:200]}") from error


def _convert(node: yaml.Node, loader: yaml.SafeLoader, path: Path, depth: int, budget: Iterator[int]) -> Node:
    """Convert a YAML node; `budget` bounds what aliases can multiply, `depth` what they can nest."""
    where = f"{path}:{node.start_mark.line + 1}"
    if depth > 20 or next(budget, None) is None:
        raise ConfigError(
            f"{where}: more than 20 levels or {_MAX_NODES:,} values; this is not a settings file"
        )
    if isinstance(node, yaml.SequenceNode):
        return Node(where, [_convert(item, loader, path, depth + 1, budget) for item in node.value])
    if not isinstance(node, yaml.MappingNode):
        value = loader.construct_object(node, deep=True)
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            # Python would not even write it into a message.
            raise ConfigError(f"{where}: a number of {value.bit_length():,} bits; no setting is so large")
        return Node(where, value)
    members: dict[str, Node] = {}
    for key_node, value_node in node.value:
        key = str(key_node.value)
        place = f"{path}:{key_node.start_mark.line + 1}"
        if key in members:
            raise ConfigError(f"{place}: key {key!r} is given twice")
        members[key] = Node(place, _convert(value_node, loader, path, depth + 1, budget).value)
    return Node(where, members)
