"""The image's recipe, by a linter and by what it promises. No Docker engine runs in these tests."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import PROJECT

DOCKERFILE = PROJECT / "deploy/Dockerfile"
TEXT = DOCKERFILE.read_text("utf-8")


def lint(path: Path) -> "subprocess.CompletedProcess[str]":
    program = Path(sys.executable).with_name("hadolint")
    return subprocess.run([program, str(path)], capture_output=True, text=True, check=False)


def test_the_linter_has_nothing_to_say() -> None:
    done = lint(DOCKERFILE)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_linter_would_tell(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM python\nRUN sudo true\n")
    done = lint(tmp_path / "Dockerfile")
    assert done.returncode == 1
    assert "DL3004" in done.stdout


def test_it_ends_as_a_user_without_rights() -> None:
    last = TEXT.rpartition("\nFROM ")[2]
    assert re.findall(r"^USER (\S+)$", last, re.MULTILINE) == ["10001:10001"]
    assert re.findall(r"^FROM (\S+)", TEXT, re.MULTILINE) == ["python:3.11.14-slim-bookworm"] * 2


def test_what_is_copied_is_let_through_and_nothing_else() -> None:
    copied = [
        name
        for line in re.findall(r"^COPY (?!--from)(.*)$", TEXT, re.MULTILINE)
        for name in line.split()[:-1]
    ]
    lines = DOCKERFILE.with_name("Dockerfile.dockerignore").read_text("utf-8").split()
    assert sorted(copied) == sorted(line[1:] for line in lines if line.startswith("!"))
    assert [name for name in copied if not (PROJECT / name).exists()] == []


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_its_steps_make_a_pdscope_that_runs(tmp_path: Path) -> None:
    """The RUN lines of the first stage, on this machine; then the command as the second stage has it."""
    stage = TEXT.split("\nFROM ")[1].replace("\\\n", " ")
    assert stage.count("\nRUN ") == 2
    for name in re.findall(
        r"^!(.*)$", DOCKERFILE.with_name("Dockerfile.dockerignore").read_text(), re.MULTILINE
    ):
        source, target = PROJECT / name, tmp_path / "src" / name
        target.parent.mkdir(exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    made = tmp_path / "opt"
    for line in re.findall(r"^RUN (.*)$", stage, re.MULTILINE):
        command = line.replace("/opt/pdscope", str(made)).replace(
            "python -m venv", f"{sys.executable} -m venv"
        )
        done = subprocess.run(
            command, shell=True, cwd=tmp_path / "src", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
    done = subprocess.run(
        [made / "bin/pdscope", "--version"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("pdscope ")
    for words in (["dashboards", "build"], ["migrate", "--data", "data", "--apply"]):
        done = subprocess.run([made / "bin/pdscope", *words], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
