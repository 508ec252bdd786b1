"""The sentence about a window in which nothing is to be judged."""

from analyzer.verdict.cause_answers import CauseAnswer
from analyzer.verdict.diagnosis import Counts
from analyzer.verdict.summary import summarize
from analyzer.verdict.tables import Freed, Outcome
from analyzer.verdict.vocabulary import Cause
from tests.verdict.build import PHASES, World


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


def abstained(world: World, counts: Counts) -> str:
    """The sentence about a window whose misses no cause explains."""
    share = CauseAnswer(Cause.INSUFFICIENT_EVIDENCE, counts.missed, 1.0, None, None, 0, 0.9, [], "")
    return summarize(world.situation(), counts, Cause.INSUFFICIENT_EVIDENCE, [share])


def test_of_misses_that_nothing_explains_it_says_within_what_their_time_lies():
    world = World()
    timed_as_one = 1 << PHASES.index("prefill_queue") | 1 << PHASES.index("prefill_compute")
    for number in range(4):
        row = world.request(10 * number, {"router_queue": 0.1}, first_token=3.0)
        if number:
            world.rows[row] |= {"composite": 2.5, "within": timed_as_one}

    said = abstained(world, Counts(total=4, evaluated=4, missed=4))

    assert said == (
        "4 of 4 requests missed; 4 cannot be explained by what is sent; "
        "of 3 it lies within prefill queue and prefill compute, which spans time as one."
    )


def test_of_misses_that_nothing_explains_it_says_how_they_failed():
    world = World()
    world.request(10, {}, outcome=Outcome.REJECTED, lasted=0.01)
    world.request(20, {}, outcome=Outcome.ERROR, lasted=0.5)

    said = abstained(world, Counts(total=2, evaluated=2, missed=2, rejected=1, errored=1))

    assert said == (
        "2 of 2 requests missed; 2 cannot be explained by what is sent; 1 were refused and 1 failed."
    )


def test_of_an_answer_in_one_piece_no_phase_is_said_to_hold_what_its_tokens_took():
    world = World()
    for _ in range(3):
        row = world.request(10, {"router_queue": 0.1}, first_token=3.0, lasted=3.0, tpot=None)
        world.rows[row] |= {"composite": 2.9, "within": 1 << PHASES.index("decode_queue")}

    said = abstained(world, Counts(total=3, evaluated=3, missed=3))

    assert said == (
        "3 of 3 requests missed; 3 cannot be explained by what is sent; "
        "3 had their answers in one piece, the first token with the last."
    )
