"""Every test that the threat model names exists."""

import ast
import re

import pytest

from tests.paths import PROJECT

NAMED = re.findall(r"`(tests/\S+\.py)::(\w+)`", (PROJECT / "docs/security.md").read_text())


def test_threats_are_listed() -> None:
    assert len(NAMED) > 12


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_the_test_of_a_threat_exists(file: str, name: str) -> None:
    tree = ast.parse((PROJECT / file).read_text())
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
