"""Evidence calls a value observed, derived or bounded as the timeline does that it is quoted from."""

import pytest

from analyzer.verdict.causes import IN_ORDER
from analyzer.verdict.evidence import Evidence
from analyzer.verdict.quoted import of_one
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import PART
from collector.phases import Phase
from tests.verdict.build import HEALTHY, World, healthy


def missed(**sources: str) -> Situation:
    world = World(sources={str(phase): "observed" for phase in Phase} | sources)
    healthy(world)
    for number in range(9):
        longer = {name: seconds + 1.0 for name, seconds in HEALTHY.items()}
        world.request(300 + number, longer, preempted=0.5)
    return world.situation()


@pytest.mark.parametrize("word", ["observed", "derived", "bounded"])
def test_every_rule_quotes_parts_as_their_timelines_know_them(word: str) -> None:
    s = missed(preempted=word, **{str(phase): word for phase in Phase})
    quoted = [item for rule in IN_ORDER for item in rule.explain(s, s.failed | True)]
    of_parts = {item.signal: item.source for item in quoted if item.signal in PART}
    assert of_parts.pop("retry") == "derived"
    assert len(of_parts) > 7
    assert set(of_parts.values()) == {word}
    assert {item.source for item in quoted if item.signal == "preempted"} == {word}


def test_what_is_worked_out_of_several_values_is_never_called_observed() -> None:
    s = missed()
    quoted = [item for rule in IN_ORDER for item in rule.explain(s, s.failed | True)]
    assert {item.source for item in quoted if item.unit in ("GB/s", "slope")} <= {"derived", "supplied"}
    gauges = [
        item for item in quoted if item.unit == "fraction" and not item.signal.endswith("kv_used_fraction")
    ]
    assert {item.source for item in gauges} <= {"derived"}


def test_of_one_request_its_own_intervals_count() -> None:
    said = [Evidence("prefill_queue", 1.0, "s", "observed"), Evidence("tpot", 0.1, "s", "observed")]
    intervals = [
        {"phase": "prefill_queue", "source": "observed"},
        {"phase": "prefill_queue", "source": "derived"},
        {"phase": "", "source": "bounded"},
    ]
    assert [item.source for item in of_one(said, intervals)] == ["derived", "observed"]
