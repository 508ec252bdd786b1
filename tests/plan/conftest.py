"""One embedded store for the tests of this folder: an engine opens one path at a time in a process."""

import gc
from collections.abc import Callable, Iterator

import pytest

from analyzer.assemble.assembler import Assembler
from analyzer.plan.layout import Settings, parse_layout
from analyzer.plan.simulate import simulate
from analyzer.plan.telemetry import Emission, exports
from analyzer.plan.workload import Workload
from analyzer.slo.scope import Scope
from collector.store import Store

START_NS = 1_767_225_600_000_000_000
Serve = Callable[[str, Workload, Settings, str], Scope]


@pytest.fixture(scope="package")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = Store.open(tmp_path_factory.mktemp("store"))
    yield opened
    opened.close()
    # Clients of ended threads hold the engine until they are collected.
    gc.collect()


@pytest.fixture(scope="package")
def serve(store: Store) -> Serve:
    """Simulate a layout, store what its telemetry says under a cohort, and return the scope that holds it."""

    def of(layout: str, workload: Workload, settings: Settings, cohort: str) -> Scope:
        run = simulate(workload, parse_layout(layout), settings)
        said = Emission(START_NS, "simulated", cohort, 8)
        store.insert_traces(list(exports(run, settings.transfer, said)))
        Assembler(store).catch_up()
        return Scope(START_NS - 10**9, START_NS + 10**12, cohort=cohort)

    return of
