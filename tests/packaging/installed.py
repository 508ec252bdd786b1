"""Builds the wheel and installs it where nothing else of pdscope is."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from tests.paths import PROJECT


def build(folder: Path) -> Path:
    """Build the wheel into a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


def install(wheel: Path, folder: Path) -> Path:
    """The command in an environment of its own: the wheel, and this one's packages for dependencies."""
    venv.create(folder, with_pip=False)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    # or pip would remove the project from the environment that runs the tests
    command += ["--ignore-installed", "--prefix", folder, wheel]
    subprocess.run(command, check=True, capture_output=True)
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    script = folder / "bin/pdscope"
    script.write_text(f"#!{folder}/bin/python\n" + script.read_text().partition("\n")[2])
    return script
