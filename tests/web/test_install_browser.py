"""The script that installs the browser: silent when there is nothing to do, clear when it can't do it."""

import subprocess
from pathlib import Path

import pytest

from tests.paths import PROJECT

SCRIPT = PROJECT / "tests" / "install-browser.sh"


@pytest.fixture
def without_browser(tmp_path: Path) -> Path:
    """The script, looking for a browser that isn't there, with `tmp_path/bin` as its only commands."""
    (tmp_path / "bin").mkdir()
    text = SCRIPT.read_text().replace("browser=/usr/bin/chromium", f"browser={tmp_path}/chromium")
    script = tmp_path / "install.sh"
    script.write_text(text)
    return script


def command(folder: Path, name: str, body: str) -> None:
    path = folder / "bin" / name
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)


def run(script: Path) -> subprocess.CompletedProcess[str]:
    path = f"{script.parent / 'bin'}"
    for name in ("mktemp", "rm", "tail"):
        link = script.parent / "bin" / name
        link.symlink_to(f"/usr/bin/{name}")
    return subprocess.run(
        ["/bin/bash", script], env={"PATH": path}, capture_output=True, text=True, timeout=30, check=False
    )


def test_an_installed_browser_is_left_alone_without_a_word() -> None:
    done = subprocess.run([SCRIPT], capture_output=True, text=True, timeout=30, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_machine_without_apt_get_is_told_what_is_missing(without_browser: Path) -> None:
    done = run(without_browser)
    assert done.returncode == 1
    assert "there is no apt-get here; install Chromium at that path" in done.stderr


def test_an_ordinary_user_is_told_the_command(without_browser: Path) -> None:
    command(without_browser.parent, "apt-get", "exit 0")
    command(without_browser.parent, "id", "echo 1000")
    done = run(without_browser)
    assert done.returncode == 1
    assert "sudo apt-get install chromium" in done.stderr


def test_root_installs_by_package_name_after_refreshing_old_lists(without_browser: Path) -> None:
    folder = without_browser.parent
    calls = folder / "calls"
    command(folder, "id", "echo 0")
    command(
        folder,
        "apt-get",
        f"""echo "$@" >>{calls}
if [ "$1" = update ]; then echo >{folder}/lists; exit 0; fi
[ -e {folder}/lists ] || {{ echo "Unable to locate package chromium"; exit 100; }}
echo '#!/bin/bash' >{folder}/chromium; /bin/chmod +x {folder}/chromium""",
    )
    done = run(without_browser)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    install = "install --yes --quiet --no-install-recommends chromium"
    assert calls.read_text().splitlines() == [install, "update --quiet", install]


def test_what_apt_get_said_is_shown_when_it_fails(without_browser: Path) -> None:
    command(without_browser.parent, "id", "echo 0")
    command(without_browser.parent, "apt-get", 'echo "no route to the mirror"; exit 100')
    done = run(without_browser)
    assert done.returncode == 1
    assert "no route to the mirror" in done.stderr
