"""A store filled with real captures, and Debian's promtool."""

import gc
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from analyzer.assemble.assembler import Assembler
from analyzer.minutes import Minutes
from analyzer.slo.objectives import Objective, Objectives, Selector
from analyzer.slo.objectives_table import write_objectives
from collector.receive.import_files import import_files
from collector.store import Store
from tests.paths import CAPTURES

OBJECTIVES = Objectives(
    (
        Objective("o'short", 0.05, 0.02, 0.95, 7, Selector(input_bucket="0-1K")),
        Objective("rest", 0.5, 0.1),
    )
)
"""Some requests of the captures meet them, some miss; one name needs escaping."""


@pytest.fixture(scope="package")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = Store.open(tmp_path_factory.mktemp("store"))
    assembler = Assembler(opened)
    import_files([CAPTURES / "dynamo-1.6.1/baseline-sync", CAPTURES / "vllm-0.32.0/traced-connector"], opened)
    taken = assembler.catch_up().taken
    write_objectives(opened, OBJECTIVES)
    Minutes(opened, lambda: OBJECTIVES, lambda: taken).catch_up()
    yield opened
    opened.close()
    gc.collect()


Promtool = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def promtool() -> Promtool:
    """Run Debian's promtool (tests/install-prometheus.sh)."""
    program = shutil.which("promtool")
    assert program, "promtool is missing: run tests/install-prometheus.sh"

    def run(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [program, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False
        )

    return run
