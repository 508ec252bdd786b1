"""Scenarios through the product's own store and verdicts, without a server."""

from pathlib import Path

import pytest

from . import in_process
from .run import main
from .scenario import scenario


def test_what_was_kept_is_judged_as_what_was_shown(tmp_path: Path) -> None:
    shown = scenario(3, 1)
    (seen,) = in_process.show([shown], ablate=True)
    in_process.keep(tmp_path, shown, seen)
    again = in_process.kept(tmp_path, shown)
    assert again is not None
    assert again.less is not None
    assert again.less.removed
    assert in_process.answer(shown, again.whole) == in_process.answer(shown, seen.whole)
    assert in_process.kept(tmp_path, scenario(3, 2)) is None

    answer = in_process.answer(shown, seen.whole)
    assert (answer.missed, answer.said_missed) == (len(shown.truth.missed), len(shown.truth.missed))
    assert answer.requests_judged == answer.missed
    assert answer.right
    assert answer.counterfactuals_judged > 0


def test_a_run_uses_what_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = scenario(3, 1)
    in_process.keep(tmp_path, shown, in_process.show([shown], ablate=False)[0])
    arguments = ["--in-process", "--seed", "3", "--first", "1", "--count", "1", "--keep", str(tmp_path)]
    assert main(arguments) == 1  # no healthy scenario, none with two faults: not measured is not reached
    out = capsys.readouterr().out
    assert "PASS  dominant cause right, one fault" in out
