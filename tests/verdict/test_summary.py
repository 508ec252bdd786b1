"""The sentence about a window in which nothing is to be judged."""

from analyzer.verdict.diagnosis import Counts
from analyzer.verdict.summary import summarize
from analyzer.verdict.tables import Freed, Outcome
from analyzer.verdict.vocabulary import Cause
from tests.verdict.build import World


def test_it_says_what_became_of_them_and_what_kv_they_left():
    world = World()
    row = world.request(10, {"prefill_compute": 0.3}, outcome=Outcome.CANCELLED, account=2, lasted=1.0)
    world.hand_off(row, published=10.3, lease_end=40.3, freed=40.4, freed_why=Freed.EXPIRED)
    world.request(20, {"prefill_compute": 0.3}, outcome=Outcome.CANCELLED, account=2, lasted=1.0)

    said = summarize(world.situation(), Counts(total=3, cancelled=2, incomplete=1), Cause.NONE, [])

    assert said == (
        "3 requests started, none to be judged: 2 left by their clients, "
        "1 seen in part, or not ended yet; 1 left KV that nobody read."
    )


def test_it_keeps_silent_about_kv_when_all_was_read():
    world = World()
    world.request(20, {"prefill_compute": 0.3}, outcome=Outcome.CANCELLED, account=2, lasted=1.0)

    said = summarize(world.situation(), Counts(total=1, cancelled=1), Cause.NONE, [])

    assert said == "1 request started, none to be judged: 1 left by their clients."
