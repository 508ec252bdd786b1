"""How many requests are under way, as routers count them."""

from dataclasses import replace

import pytest

from analyzer.verdict.diagnosis import diagnose_loaded
from analyzer.verdict.load import Loaded
from tests.verdict.build import World


@pytest.mark.parametrize("label", ["tenant", "route", "cohort"])
def test_routers_count_everybodys_so_it_is_not_told_of_some(label: str) -> None:
    world = World()
    world.request(10, {"prefill_compute": 0.3})
    world.steady("requests_in_flight", "router", 7.0)
    world.steady("oldest_request_age", "router", 2.5)
    loaded = world.loaded()
    narrowed = replace(loaded, scope=replace(loaded.scope, **{label: "acme"}))

    def counted(of: Loaded) -> tuple[int | None, float | None]:
        counts = diagnose_loaded(of, of.objectives, round(world.seconds * 1e9)).counts
        return counts.in_flight, counts.oldest_in_flight_s

    assert counted(loaded) == (7, 2.5)
    assert counted(narrowed) == (None, None)
