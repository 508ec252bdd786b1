"""Turns of conversations, and designs that hurt the later ones."""

from typing import Any

import numpy as np
import pytest

from analyzer.verdict.conversations import Conversations, conversations
from tests.verdict.build import HEALTHY, World

LATE = HEALTHY | {"prefill_queue": 9.0}


def world_of(count: int, turns: int = 3, **later: Any) -> World:
    """Conversations of some turns, one after the other; `later` is given to turns after the first."""
    world = World()
    slow = later.pop("slow", ())
    for number in range(count):
        for turn in range(1, turns + 1):
            durations = LATE if turn > 1 and number in slow else HEALTHY
            given = later if turn > 1 else {}
            world.request(
                number * 5.0 + turn, durations, conversation=f"c{number}", input_tokens=500.0 * turn, **given
            )
    return world


def told(world: World, inside_from: float = 0.0) -> Conversations:
    with np.errstate(divide="ignore", invalid="ignore"):
        s = world.situation()
    return conversations(s, np.flatnonzero(s.requests.start >= inside_from))


def test_turns_are_numbered_by_their_start() -> None:
    found = told(world_of(10))
    assert (found.conversations, [(turn.turn, turn.requests) for turn in found.turns]) == (
        10,
        [(1, 10), (2, 10), (3, 10)],
    )
    assert [turn.input_tokens for turn in found.turns] == [500, 1000, 1500]


def test_turns_before_the_window_count() -> None:
    found = told(world_of(10), inside_from=2.5)
    assert [(turn.turn, turn.requests) for turn in found.turns] == [(1, 9), (2, 9), (3, 10)]


def test_requests_without_a_conversation_have_no_turns() -> None:
    world = World()
    world.request(1.0, HEALTHY)
    assert told(world) == Conversations(0, [], None)


def test_prefill_on_decode_is_on_purpose_or_recompute() -> None:
    appended = told(world_of(8, local_prompt_tokens=50.0, appended=True)).turns[1]
    recomputed = told(world_of(8, local_prompt_tokens=50.0)).turns[1]
    assert (appended.appended, appended.recomputed) == (8, 0)
    assert (recomputed.appended, recomputed.recomputed) == (0, 8)


def test_cached_prompts_are_told_by_turn() -> None:
    found = told(world_of(8, cached_tokens=400.0))
    assert [turn.cached_fraction for turn in found.turns] == [0, 0.4, pytest.approx(400 / 1500)]


def hand_offs(world: World, **given: Any) -> World:
    for row in range(len(world.rows)):
        tokens = world.rows[row]["input_tokens"]
        world.hand_off(row, asked=row + 0.1, moved=row + 0.2, tokens=tokens, **given)
    return world


def test_what_decode_holds_and_gets_again_is_told() -> None:
    world = hand_offs(world_of(10), already_held_tokens=480.0)
    found = told(world)
    assert found.turns[1].resent_fraction == pytest.approx(0.48)
    assert (
        found.note
        == "later turns send 48% of tokens that decode already holds: the design suits one-shot prompts"
    )


def test_what_decode_may_hold_is_a_bound_where_hand_offs_do_not_say() -> None:
    found = told(hand_offs(world_of(10)))
    turn = found.turns[1]
    # The turn before had 500 tokens of prompt and 100 of answer; 1,000 are sent.
    assert (turn.resent_fraction, turn.resent_at_most) == (None, pytest.approx(0.6))
    assert turn.same_decode_fraction == 1
    assert found.note is None


def test_turns_that_move_to_another_decode_worker_leave_their_prefix_behind() -> None:
    world = hand_offs(world_of(10, turns=2, decode_worker="decode-9"))
    turn = told(world).turns[1]
    assert (turn.same_decode_fraction, turn.resent_at_most) == (0, 0)


def test_later_turns_that_miss_are_told_with_what_may_be_why() -> None:
    found = told(hand_offs(world_of(40, slow=range(20))))
    assert found.turns[1].missed_fraction == 0.5
    assert found.note is not None
    assert "later turns send up to 73% of tokens that decode may still hold" in found.note
    assert "50% of later turns miss, 0% of first ones" in found.note


def test_first_turns_that_miss_as_often_are_no_reason() -> None:
    world = world_of(40)
    for row in range(0, len(world.rows), 2):
        world.rows[row] |= {"account": 1}
    assert told(world).note is None


def test_later_turns_that_wait_longer_per_new_token_are_told() -> None:
    durations = HEALTHY | {"prefill_compute": 3.0}
    world = World(ttft=100.0)
    for number in range(10):
        world.request(number * 5.0, HEALTHY, conversation=f"c{number}", input_tokens=1000.0)
        world.request(number * 5.0 + 2, durations, conversation=f"c{number}", input_tokens=1000.0)
    assert "wait longer per new token" in str(told(world).note)
