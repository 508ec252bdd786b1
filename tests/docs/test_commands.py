"""Every command in the docs is one that pdscope or make takes."""

import re
from pathlib import Path

import pytest
import typer

from analyzer.cli.main import app
from analyzer.slo.objectives import load_objectives
from collector.settings import resolve
from tests.docs.pages import PAGES, blocks, commands, mentions, name
from tests.paths import PROJECT

README = PROJECT / "README.md"


UsageError = typer.BadParameter.__mro__[1]
"""What typer raises for a command line that it does not take."""


def parse(words: list[str]) -> None:
    """Parse a command line as pdscope would, without running it. Raises UsageError."""
    command, context = typer.main.get_command(app), None
    while hasattr(command, "get_command"):
        context = command.context_class(command, info_name=command.name, parent=context)
        if not words or words[0].startswith("-"):
            return _check_options(command, context, words)
        found = command.get_command(context, words[0])
        if found is None:
            raise UsageError(f"no command {words[0]!r}")
        command, words = found, words[1:]
    context = command.context_class(command, info_name=command.name, parent=context)
    command.make_parser(context).parse_args(list(words))
    return None


def _check_options(command, context, words: list[str]) -> None:
    known = {option for parameter in command.get_params(context) for option in parameter.opts}
    unknown = [word for word in words if word.startswith("-") and word not in known]
    if unknown:
        raise UsageError(f"no option {unknown[0]}")


LINES = [(name(page), words) for page in PAGES for words in (*commands(page), *mentions(page))]


@pytest.mark.parametrize(
    ("page", "words"), LINES, ids=[f"{page}: {' '.join(words)}" for page, words in LINES]
)
def test_a_command_line_is_one_that_pdscope_takes(page: str, words: list[str]) -> None:
    parse(words)


@pytest.mark.parametrize(
    "words", [["nonesuch"], ["report", "--nonesuch"], ["plan", "nonesuch"], ["--nonesuch"]]
)
def test_a_wrong_command_line_is_told(words: list[str]) -> None:
    with pytest.raises(UsageError):
        parse(words)


def test_the_docs_show_commands() -> None:
    assert len(LINES) > 15


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_make_targets_exist(page: Path) -> None:
    makefile = (PROJECT / "Makefile").read_text()
    wanted = re.findall(r"(?:^|`)make (?:\w+=\S+ )?([a-z]+)", page.read_text(), re.MULTILINE)
    missing = [target for target in wanted if not re.search(rf"^{target}:", makefile, re.MULTILINE)]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_modules_that_are_run_exist(page: Path) -> None:
    modules = set(re.findall(r"python -m ((?:collector|analyzer|bench)[\w.]+)", page.read_text()))
    assert [module for module in modules if not (PROJECT / (module.replace(".", "/") + ".py")).exists()] == []


def test_the_objectives_in_the_readme_are_valid(tmp_path: Path) -> None:
    (example,) = [block for block in blocks(README, "yaml") if block.startswith("objectives:")]
    (tmp_path / "slo.yaml").write_text(example)
    assert load_objectives(tmp_path / "slo.yaml").items[0].name == "chat-short"


def test_the_settings_file_in_the_docs_is_valid(tmp_path: Path) -> None:
    (example,) = blocks(PROJECT / "docs" / "settings.md", "yaml")
    (tmp_path / "pdscope.yaml").write_text(example)
    assert resolve({}, {}, tmp_path / "pdscope.yaml").data == Path("/var/lib/pdscope")
