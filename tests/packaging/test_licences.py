"""Licences of every locked dependency, and a bill of materials that names them."""

import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tests.paths import PROJECT

LOCK = (PROJECT / "requirements.lock").read_text("utf-8")
LOCKED = dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^\s;\\]+)", LOCK, re.MULTILINE))
ALLOWED = (
    *("Apache", "MIT", "BSD", "ISC", "PSF", "Python Software Foundation", "Zlib", "CC0"),
    # Of certifi and pathspec, which are used as they are: the licence asks for their own source alone.
    "Mozilla Public License 2.0",
)


def installed() -> list[str]:
    """Locked packages of this machine: some are for other systems or Pythons."""
    found = []
    for name in LOCKED:
        try:
            distribution(name)
        except PackageNotFoundError:
            continue
        found.append(name)
    return found


def run(program: str, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    path = Path(sys.executable).with_name(program)
    return subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, check=False)


def licences(*allowed: str) -> "subprocess.CompletedProcess[str]":
    asked = ("--from=mixed", "--partial-match", f"--allow-only={';'.join(allowed)}")
    return run("pip-licenses", "--python", sys.executable, *asked, "--packages", *installed())


def test_every_licence_may_be_shipped_with_ours() -> None:
    assert len(installed()) > 40
    done = licences(*ALLOWED)
    assert done.returncode == 0, done.stdout + done.stderr


def test_another_licence_is_told() -> None:
    done = licences("MIT")
    assert done.returncode != 0
    assert "not in allow-only licenses" in done.stdout + done.stderr


def test_the_bill_of_materials_names_every_locked_package(tmp_path: Path) -> None:
    made = tmp_path / "pdscope.cdx.json"
    project = ("--pyproject", PROJECT / "pyproject.toml", "--output-reproducible")
    done = run("cyclonedx-py", "requirements", PROJECT / "requirements.lock", *project, "--output-file", made)
    assert done.returncode == 0, done.stderr
    bill = json.loads(made.read_text("utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "pdscope"
    named = {(part["name"], part["version"]) for part in bill["components"]}
    assert set(LOCKED.items()) <= named
    assert all(part["purl"].startswith("pkg:pypi/") for part in bill["components"])
