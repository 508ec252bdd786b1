"""Sets up what the live proof runs: an environment for each serving system, and its tiny model.

    python -m tests.live.set_up

Everything lies in `.venv-live` and is made once for each version of its list of packages. A system that can't
be installed leaves the reason behind; its tests are then skipped with it.
"""

import hashlib
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from tests.paths import PROJECT

HOME = PROJECT / ".venv-live"
HERE = Path(__file__).parent
TORCH = "torch==2.13.0"
CALMED = {
    # NIXL's progress thread spins on a core of its own unless told to pause (microseconds).
    "nixl_cu12/_api.py": ("agent_config.pthrDelay = 0", "agent_config.pthrDelay = 500"),
    # vLLM's worker spins for a second after each step: two engines on two cores leave nothing else. Not
    # at all would lose it wake-ups: then a step waits for seconds.
    "vllm/distributed/device_communicators/shm_broadcast.py": (
        "busy_loop_s: float = 1,",
        "busy_loop_s: float = 0.1,",
    ),
}
"""File → what it says, and what it is made to say: the engines share this machine, and spin less."""


class CannotSetUp(Exception):
    """A step failed; the message says which and how."""


@dataclass(frozen=True)
class System:
    """A serving system's environment."""

    name: str
    torch: bool = False

    @property
    def folder(self) -> Path:
        return HOME / self.name

    @property
    def python(self) -> Path:
        return self.folder / "bin/python"

    @property
    def model(self) -> Path:
        return self.folder / "model"

    @property
    def packages(self) -> Path:
        return HERE / f"{self.name}.txt"

    @property
    def stamp(self) -> Path:
        return self.folder / "ready"

    @property
    def reason(self) -> Path:
        return HOME / f"{self.name}.skipped"

    @property
    def site(self) -> Path:
        return self.folder / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"

    def is_ready(self) -> bool:
        """Whether it was made from this very list of packages."""
        return self.stamp.exists() and self.stamp.read_text() == _digest(self.packages)

    def why_skipped(self) -> str | None:
        """Why its tests can't run; None when they can."""
        if self.is_ready():
            return None
        if self.reason.exists():
            return self.reason.read_text().strip()
        return f"{self.name} is not set up: run `make test-live`"


VLLM = System("vllm", torch=True)
DYNAMO = System("dynamo")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run(what: str, *command: str | Path) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip() and "WARNING" not in line]
        raise CannotSetUp(f"{what}: {said[-1] if said else f'exit status {done.returncode}'}")


def _make(system: System) -> None:
    if sys.version_info[:2] != (3, 11):
        raise CannotSetUp(
            "its wheels are locked for Python 3.11; run `make PYTHON=/path/to/python3.11 test-live`"
        )
    venv.create(system.folder, symlinks=True, with_pip=True)
    pip = (system.python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    if system.torch:
        _run("installing torch", *pip, TORCH)
    _run("installing its packages", *pip, "--no-deps", "--prefer-binary", "-r", system.packages)
    if system is VLLM:
        _run("installing pdscope beside it", *pip, "--no-deps", "--editable", PROJECT)
        _name_vllm(system.site)
        _calm(system.site)
    _run("making the model", system.python, HERE / "tiny_model.py", system.model)
    system.stamp.write_text(_digest(system.packages))


def _name_vllm(site: Path) -> None:
    """The `vllm` command asks for the metadata of a package of that name; the CPU build has another."""
    folder = site / "vllm-0.32.0+cpu.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n")


def _calm(site: Path) -> None:
    for name, (spins, waits) in CALMED.items():
        file = site / name
        text = file.read_text()
        if waits not in text and spins not in text:
            raise CannotSetUp(f"{name} is not as expected: no line {spins!r}")
        file.write_text(text.replace(spins, waits))


def set_up(system: System) -> str:
    """Make it if it isn't there; one line on what came of it."""
    if system.is_ready():
        return f"{system.name}: ready"
    system.reason.unlink(missing_ok=True)
    try:
        _make(system)
    except (CannotSetUp, OSError, subprocess.SubprocessError) as error:
        system.reason.write_text(f"{system.name} can't be installed: {error}\n")
        return system.reason.read_text().strip()
    return f"{system.name}: set up"


if __name__ == "__main__":
    HOME.mkdir(exist_ok=True)
    for each in (VLLM, DYNAMO):
        print(
            f"Setting up {each.name} in {each.folder.relative_to(PROJECT)} (some minutes, once) …", flush=True
        )
        print(set_up(each), flush=True)
