"""slo.yaml is read again when it changes; what cannot be read leaves everything as it was."""

import os
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from analyzer.slo.objectives_file import ObjectivesFile
from collector.errors import ConfigError
from tests.dashboards.programs import wait_for

GOOD = "objectives:\n  - {name: chat, ttft: 1.5, tpot: 0.05}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "slo.yaml"
    file.write_text(GOOD)
    return file


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def file(path: Path, registry: CollectorRegistry) -> ObjectivesFile:
    return ObjectivesFile(path, registry)


def limit(file: ObjectivesFile) -> float:
    return file.current().items[0].ttft


def test_a_changed_file_is_in_force(file: ObjectivesFile, path: Path) -> None:
    assert (limit(file), file.look()) == (1.5, False)
    path.write_text(GOOD.replace("1.5", "0.25"))
    assert file.look()
    assert (limit(file), file.trouble) == (0.25, None)


def test_a_bad_file_changes_nothing_and_is_told_once(
    file: ObjectivesFile, path: Path, registry: CollectorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text(GOOD.replace("ttft", "ttf"))
    assert not file.look()
    assert not file.look()
    assert limit(file) == 1.5
    assert file.trouble is not None
    assert "slo.yaml:2: objective: unknown key 'ttf'; did you mean 'ttft'?" in file.trouble
    assert len(caplog.records) == 1
    assert registry.get_sample_value("pdscope_slo_file_valid") == 0


def test_a_mended_file_is_in_force(file: ObjectivesFile, path: Path, registry: CollectorRegistry) -> None:
    path.write_text("objectives: [")
    file.look()
    path.write_text(GOOD.replace("1.5", "0.5"))
    assert file.look()
    assert (limit(file), file.trouble) == (0.5, None)
    assert registry.get_sample_value("pdscope_slo_file_valid") == 1


def test_a_file_that_went_away_is_told(file: ObjectivesFile, path: Path) -> None:
    path.unlink()
    assert not file.look()
    assert limit(file) == 1.5
    assert file.trouble is not None
    assert "No such file" in file.trouble


def test_a_link_that_is_swapped_is_followed(tmp_path: Path, registry: CollectorRegistry) -> None:
    """As Kubernetes does when a ConfigMap changes."""
    for name, text in (("one", GOOD), ("two", GOOD.replace("1.5", "2.5"))):
        (tmp_path / name).write_text(text)
    (tmp_path / "slo.yaml").symlink_to("one")
    file = ObjectivesFile(tmp_path / "slo.yaml", registry)
    (tmp_path / "next").symlink_to("two")
    os.replace(tmp_path / "next", tmp_path / "slo.yaml")
    assert file.look()
    assert limit(file) == 2.5


def test_a_thread_looks_after_it(file: ObjectivesFile, path: Path) -> None:
    file.start(every_s=0.01)
    try:
        path.write_text(GOOD.replace("1.5", "3.5"))
        wait_for(lambda: limit(file) == 3.5, 30)
    finally:
        file.stop()


def test_pdscope_does_not_start_on_a_bad_file(path: Path, registry: CollectorRegistry) -> None:
    path.write_text("objectives: 3\n")
    with pytest.raises(ConfigError, match=r"slo\.yaml:1: objectives must be a list"):
        ObjectivesFile(path, registry)
