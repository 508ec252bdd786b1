"""The README's commands for those who have neither GPU nor engine."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import pytest

from analyzer.verdict.vocabulary import Cause
from tests.dashboards.programs import Program, started, wait_for
from tests.paths import PROJECT
from tests.system.day import PATIENCE_S

Said = "subprocess.CompletedProcess[str]"


def make(*words: str | Path) -> str:
    """What make would run, without running it."""
    command = ["make", "--no-print-directory", "--dry-run", *map(str, words)]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout


def page_of(program: Program) -> str:
    """The address that a demo prints, once it has shown what it shows."""
    wait_for(
        lambda: any("Still streaming" in line for line in program.lines), PATIENCE_S, lambda: program.lines
    )
    return re.findall(r"The page: (\S+)", "\n".join(program.lines))[0]


def demo(installed: Path, folder: Path, *words: str) -> "object":
    return started(installed, "demo", "--api", "127.0.0.1:0", *words, cwd=folder, env={"COLUMNS": "200"})


@pytest.mark.promise(
    "streams real captures of vLLM and Dynamo into pdscope, prints the page's address", "sets itself up"
)
def test_make_demo(installed: Path, tmp_path: Path) -> None:
    """`pdscope demo` run from the wheel, as `make demo` does at its end; the page it names is there"""
    assert make(f"VENV={tmp_path}/new", "demo").rstrip().endswith(f"{tmp_path}/new/bin/pdscope demo")
    with demo(installed, tmp_path) as program:
        answer = httpx.get(page_of(program), timeout=60)
        assert "<title>" in answer.text
        assert any("prefill" in line for line in program.lines), program.lines


@pytest.mark.promise("installs what the tests need and runs them all", "installs Debian's package")
def test_make_test(tmp_path: Path) -> None:
    """what `make test` would run; both scripts that install are run and find their programs"""
    lines = make(f"VENV={tmp_path}/new", "test").splitlines()
    scripts = ["tests/install-browser.sh", "tests/install-prometheus.sh"]
    assert [line for line in lines if line in scripts] == scripts
    assert lines[-1] == f"{tmp_path}/new/bin/python -m pytest"
    for script in scripts:
        subprocess.run([PROJECT / script], check=True)
    assert "apt-get install --yes --quiet --no-install-recommends chromium" in (
        (PROJECT / scripts[0]).read_text("utf-8")
    )


@pytest.mark.promise("plays an incident in a small simulated deployment and shows the verdict on it")
def test_a_scenario(installed: Path, tmp_path: Path) -> None:
    """`pdscope demo --scenario slow-link` from the wheel ends in the cause it was given"""
    with demo(installed, tmp_path, "--scenario", "slow-link") as program:
        page_of(program)
        text = "\n".join(program.lines)
        assert re.search(r"^transfer_delay\.slow_link\b", text, re.MULTILINE), text


@pytest.mark.promise("`pdscope demo --list` names one for every cause")
def test_the_scenarios(installed: Path) -> None:
    """the list against the vocabulary of causes"""
    done = subprocess.run([installed, "demo", "--list", "--json"], capture_output=True, text=True, check=True)
    named = {item["cause"] for item in json.loads(done.stdout)}
    assert named == set(map(str, Cause)) - {Cause.INSUFFICIENT_EVIDENCE}


@pytest.mark.promise("They need Python 3.11 or newer (`make PYTHON=/path/to/python3.11 demo` names another)")
def test_which_python(tmp_path: Path) -> None:
    """the package's own claim, and the command that `make PYTHON=…` would run"""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == ">=3.11"
    told = make(f"VENV={tmp_path}/new", "PYTHON=/path/to/python3.11", "demo")
    assert f"/path/to/python3.11 -m venv {tmp_path}/new" in told
    old = tmp_path / "python3.10"
    old.write_text("#!/bin/sh\necho 'pdscope needs Python 3.11 or newer' >&2\nexit 1\n")
    old.chmod(0o755)
    done = subprocess.run(
        ["make", f"VENV={tmp_path}/new", f"PYTHON={old}", "demo"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert not (tmp_path / "new").exists()


@pytest.mark.promise("The first run makes its own environment in `.venv` from a lock file")
def test_the_lock_file(tmp_path: Path) -> None:
    """what `make demo` would install: what the lock file names, by its hashes"""
    told = make(f"VENV={tmp_path}/new", "demo")
    assert "--require-hashes -r requirements.lock" in told
    assert re.search(r"^VENV := \.venv$", (PROJECT / "Makefile").read_text("utf-8"), re.MULTILINE)
    lock = (PROJECT / "requirements.lock").read_text("utf-8")
    assert lock.count("--hash=sha256:") > lock.count("==") > 40


@pytest.mark.promise("look for them in `../shared`, or where `PDSCOPE_SHARED` says")
def test_where_captures_are() -> None:
    """the tests' own word on it, with the variable and without"""
    code = "from tests.paths import SHARED; print(SHARED)"
    kept = {name: value for name, value in os.environ.items() if name != "PDSCOPE_SHARED"}
    for more, expected in (({}, PROJECT.parent / "shared"), ({"PDSCOPE_SHARED": "/else"}, Path("/else"))):
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, cwd=PROJECT, env={**kept, **more}, capture_output=True, text=True, check=True
        )
        assert Path(done.stdout.strip()) == expected


@pytest.mark.promise("`make system` runs one of the tests alone")
def test_make_system(tmp_path: Path) -> None:
    """what it would run: these tests"""
    assert make(f"VENV={tmp_path}/new", "system").rstrip().endswith("-m pytest -q tests/system")
