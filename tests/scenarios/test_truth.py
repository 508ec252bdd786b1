"""The truth: shares add up, a planted fault is blamed where its removal is what would have helped."""

from dataclasses import replace

import pytest

from .faults import KINDS
from .model import play
from .scenario import DECOY, HEALTHY, MIX, ONE, TWO, scenario
from .truth import Truth, met

PAIRS = [("slow_link", "starved_prefill"), ("router_queue", "slow_readers"), ("unclaimed", "slow_steps")]


@pytest.mark.parametrize("pair", PAIRS)
def test_shares_of_a_miss_add_up_to_one(pair: tuple[str, str]) -> None:
    truth = scenario(4, 3, TWO, pair).truth
    assert truth.missed
    for verdict in truth.verdicts:
        assert sum(verdict.shares.values()) == pytest.approx(1.0)
    assert sum(truth.shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_fault_whose_removal_is_enough_is_the_cause(pair: tuple[str, str]) -> None:
    truth = scenario(4, 3, TWO, pair).truth
    decided = [verdict for verdict in truth.missed if sum(verdict.without.values()) == 1]
    assert decided
    for verdict in decided:
        (name,) = (name for name, enough in verdict.without.items() if enough)
        assert verdict.cause == KINDS[name].cause
        assert verdict.shares == {verdict.cause: 1.0}


def test_what_would_have_met_is_what_meets_when_the_seed_is_played_without_the_fault() -> None:
    truth = scenario(4, 3, ONE, ("slow_pairs",)).truth
    without = truth.runs[frozenset()]
    expected = sum(met(without.lives[v.index], truth.objective) is True for v in truth.missed)
    assert truth.would_have_met("transfer_delay.slow_link") == expected == len(truth.missed)
    assert truth.would_have_met("router_queue") == 0


def test_a_request_missed_for_two_sufficient_reasons_is_shared_between_them() -> None:
    truth = scenario(4, 3, TWO, ("slow_handover", "slow_readers")).truth
    both = [v for v in truth.missed if not any(v.without.values())]
    assert both
    assert all(0.0 < share < 1.0 for v in both for share in v.shares.values())


def test_a_window_that_keeps_its_target_has_no_cause_even_with_a_miss() -> None:
    truth = scenario(4, 3, ONE, ("slow_pairs",)).truth
    lenient = Truth(replace(truth.objective, target=0.01), truth.faults, truth.runs)
    assert lenient.missed
    assert lenient.dominant == "none"
    assert lenient.acceptable == {"none"}


def test_misses_without_a_fault_are_blamed_on_none() -> None:
    shown = scenario(4, 0, HEALTHY)
    strict = replace(shown.truth.objective, ttft=shown.truth.objective.ttft / 4)
    truth = Truth(strict, (), {frozenset(): play(shown.run.spec)})
    assert truth.missed
    assert truth.shares == {"none": pytest.approx(1.0)}


def test_the_mix_has_every_kind_and_covers_every_fault() -> None:
    assert set(MIX) == {HEALTHY, DECOY, ONE, TWO}
    from .scenario import names_of

    drawn = {name for index in range(120) for name in names_of(7, index)}
    assert drawn == set(KINDS)


@pytest.mark.parametrize("index", [5, 15, 25, 55])
def test_a_decoy_that_does_no_harm_has_no_cause_and_one_that_does_is_no_decoy(index: int) -> None:
    shown = scenario(2, index)
    assert shown.truth.faults
    assert (shown.kind == DECOY) == (shown.truth.dominant == "none")
