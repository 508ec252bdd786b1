"""The documents build as a site in which every link leads somewhere."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import PROJECT

ENV = {"NO_MKDOCS_2_WARNING": "1", "PATH": "/usr/bin:/bin"}


def build(config: Path, site: Path) -> "subprocess.CompletedProcess[str]":
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        config,
        "--site-dir",
        site,
    ]
    return subprocess.run(command, capture_output=True, text=True, env=ENV, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(PROJECT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_it_builds_without_a_warning(site: Path) -> None:
    assert (site / "index.html").exists()
    assert (site / "runbooks/slo_burn/index.html").exists()


def test_links_out_of_the_documents_lead_into_the_repository(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    linked = {
        path
        for page in pages
        for path in re.findall(
            r'href="https://github\.com/pdscope/pdscope/blob/main/([^"#]+)', page.read_text()
        )
    }
    assert "docker-compose.yml" in linked
    assert [path for path in linked if not (PROJECT / path).exists()] == []


def test_nothing_is_loaded_from_other_hosts(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    loaded = re.findall(
        r'<(?:script|img)[^>]+src="(https?:[^"]+)"|<link[^>]+rel="stylesheet"[^>]+href="(https?:[^"]+)"', page
    )
    assert loaded == []


def test_a_dead_link_is_told(tmp_path: Path) -> None:
    shutil.copytree(PROJECT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("images"))
    shutil.copy(PROJECT / "mkdocs.yml", tmp_path)
    page = tmp_path / "docs/faq.md"
    page.write_text(page.read_text() + "\n[nowhere](nowhere.md) and [no anchor](concepts.md#nowhere)\n")
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode == 1
    assert "nowhere.md" in done.stderr
    assert "#nowhere" in done.stderr
