"""Real captures with both their spans and their metrics pages, and what a check-up says of them."""

import gc
import gzip
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from analyzer.assemble.assembler import Assembler
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.telemetry import TelemetryReport, examine
from analyzer.verdict.diagnosis import diagnose
from collector.engines import ADAPTERS
from collector.receive.commit import commit
from collector.scrape.health import answered
from collector.scrape.page import Layout, attribute, split
from collector.scrape.target import target
from collector.scrape.wanted import wanted
from collector.store import Store
from tests.captures.load import bodies
from tests.paths import CAPTURES

HOUR_NS = 3_600_000_000_000
_SCRAPE = re.compile(r"(?m)^# SCRAPE .*?(\d{19}).*\n")
_WANTED = wanted(ADAPTERS)


def scrapes(path: str) -> list[tuple[int, str]]:
    """(Unix nanoseconds, page) of a captured file."""
    parts = _SCRAPE.split(gzip.decompress((CAPTURES / path).read_bytes()).decode())[1:]
    return list(zip(map(int, parts[::2]), parts[1::2], strict=True))


def exports(path: str, address: str, pool: str = "") -> list[bytes]:
    """The exports that scraping made of a captured file's pages, at the times they were captured."""
    who = [attribute(*pair) for pair in target(address, {"pool": pool}, "engines").resource.items()]
    made = []
    for time_ns, page in scrapes(path):
        keys, numbers, _ = split(page, _WANTED)
        made.append(Layout(keys, who, _WANTED).fill(numbers, time_ns) + answered(who, time_ns))
    return made


Examine = Callable[..., TelemetryReport]


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = Store.open(tmp_path_factory.mktemp("store"))
    yield opened
    opened.close()
    gc.collect()


@pytest.fixture
def examined(store: Store) -> Examine:
    """Store spans and pages, assemble, and check up the hour around them."""

    def run(spans: str = "", metrics: list[bytes] | None = None, around: int = 0) -> TelemetryReport:
        assembler = Assembler(store)
        for body in metrics or []:
            assert commit(store, [body], True) == [{}]
        if spans:
            commit(store, list(bodies(spans)))
            assembler.catch_up()
        scope = Scope(around - HOUR_NS // 2, around + HOUR_NS // 2)
        return examine(store, scope, diagnose(store, scope, Objectives(), around + HOUR_NS))

    return run


def named(report: TelemetryReport, check: str) -> list[Any]:
    """The checks of one name."""
    return [item for item in report.checks if item.check == check]
