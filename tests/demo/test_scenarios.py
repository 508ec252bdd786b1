"""The simulated incidents of `pdscope demo`: physically made, and each diagnosed as what it claims to be."""

import time
from collections.abc import Iterator

import pytest

from analyzer.demo.scenarios.catalogue import ONSET_S, SCENARIOS, Scenario
from analyzer.demo.scenarios.spans import Stage
from analyzer.demo.scenarios.trip import Trip
from analyzer.verdict.vocabulary import Cause
from tests.demo.telling import tell
from tests.integration.running import Json, Server, serving

UNSHOWN = {Cause.INSUFFICIENT_EVIDENCE}
"""What the telemetry of a whole deployment does not end in."""
EVERY = [pytest.param(scenario, id=name) for name, scenario in SCENARIOS.items()]


def _late(scenario: Scenario, trip: Trip) -> bool:
    if trip.outcome in ("error", "timeout"):
        return True
    if not trip.sent:
        return False
    per_token = (trip.sent[-1] - trip.sent[0]) / max(1, len(trip.tokens) - 1)
    return trip.sent[0] - trip.arrived > scenario.ttft or per_token > scenario.tpot


def test_there_is_a_scenario_for_every_cause() -> None:
    assert {scenario.cause for scenario in SCENARIOS.values()} == set(Cause) - UNSHOWN


@pytest.mark.parametrize("scenario", [p for p in EVERY if p.id != "wrong-ratio"])
def test_a_scenario_is_well_before_something_breaks(scenario: Scenario) -> None:
    take = scenario.play(seed=1)

    missed = [trip for trip in take.trips if _late(scenario, trip)]
    early = sum(trip.arrived < ONSET_S - 3 for trip in missed)
    assert early <= 0.1 * len(missed) + 3
    assert len(missed) >= 3 or scenario.cause is Cause.NONE
    assert all(trip.ended is not None for trip in take.trips)


@pytest.mark.parametrize("scenario", EVERY)
def test_every_stay_ends_after_it_began_and_kv_is_given_back_once(scenario: Scenario) -> None:
    take = scenario.play(seed=2)

    for trip in take.trips:
        assert all(stay.end >= stay.start >= trip.arrived - 1e-9 for stay in trip.stays)
        assert trip.tokens == sorted(trip.tokens)
        assert len({(r.worker, r.attempt) for r in trip.releases}) == len(trip.releases)


def test_the_same_seed_gives_the_same_take() -> None:
    one, other = (SCENARIOS["retry-storm"].play(3) for _ in range(2))

    assert one.trips == other.trips
    assert one.gauges == other.gauges


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, tuple[float, float]]]]:
    """A real server that was sent every scenario, each with a model and workers of its own; the windows."""
    with serving(tmp_path_factory.mktemp("scenarios") / "data") as server:
        windows = {name: _send(server, name) for name in SCENARIOS}
        server.settle()
        yield server, windows


def _send(server: Server, name: str) -> tuple[float, float]:
    take = SCENARIOS[name].play(seed=1)
    base = time.time_ns() - round((take.ended_s + 3) * 1e9)
    return tell(server, Stage(take, f"sim-{name}", base, name, f"-{name}"))


def _settled(server: Server, asked: Json) -> Json:
    until = time.monotonic() + 120
    while not (found := server.get("/diagnosis", **asked))["settled"]:
        assert time.monotonic() < until, "the answer did not become final in 120 s"
        time.sleep(0.5)
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("scenario", EVERY)
def test_a_scenario_is_diagnosed_as_what_it_claims(
    scenario: Scenario, told: tuple[Server, dict[str, tuple[float, float]]]
) -> None:
    server, windows = told
    since, until = windows[scenario.name]
    objective = {"ttft": scenario.ttft, "tpot": scenario.tpot, "target": 0.99}

    found = _settled(server, {"from": since, "to": until, "model": f"sim-{scenario.name}", **objective})

    assert found["dominant_cause"] == scenario.cause
    assert found["requests"]["incomplete"] == 0
