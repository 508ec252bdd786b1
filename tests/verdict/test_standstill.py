"""A worker that did nothing for a while: seen live as a process that was stopped, or that compiled."""

import numpy as np
import pytest

from analyzer.verdict import standstill
from analyzer.verdict.attribution import attribute
from analyzer.verdict.diagnosis import diagnose_loaded
from analyzer.verdict.findings import find
from analyzer.verdict.standstill import standstills
from analyzer.verdict.tables import PHASE, Account
from analyzer.verdict.worker_side import Side
from tests.verdict.build import World, causes

USUAL = {
    "router_queue": 0.001, "prefill_queue": 0.01, "prefill_compute": 0.1, "kv_publish": 0.001,
    "kv_transfer": 0.02, "decode_queue": 0.001, "kv_import": 0.002, "first_decode_step": 0.02,
}  # fmt: skip
STOPS_AT, FOR_S = 30.0, 8.0


def told(world: World) -> dict[str, str]:
    with np.errstate(divide="ignore", invalid="ignore"):
        s = world.situation()
        return {item.finding: item.detail for item in find(s, attribute(s))}


def usual(world: World, many: int = 20) -> None:
    for number in range(many):
        world.request(float(number), USUAL)


def decode_stops(world: World) -> None:
    """A stream is cut through, one that has its KV does not begin, and two are sent that nobody takes."""
    world.request(STOPS_AT - 0.5, USUAL, tpot=0.02 + FOR_S / 99)
    ahead = sum(took for phase, took in USUAL.items() if phase not in ("kv_import", "first_decode_step"))
    world.request(STOPS_AT - ahead, USUAL | {"kv_import": FOR_S})
    for after in (1.0, 2.0):
        prompt = {phase: USUAL[phase] for phase in ("router_queue", "prefill_queue", "prefill_compute")}
        left = FOR_S - after
        world.request(STOPS_AT + after, prompt, {"first_decode_step": (left, left + 0.02)})


def prefill_stops(world: World) -> None:
    """One prompt takes 8 s to compute, and four come behind it."""
    world.request(STOPS_AT, USUAL | {"prefill_compute": FOR_S})
    for number in range(4):
        wait = FOR_S - number + 0.1 * number
        world.request(STOPS_AT + number, USUAL | {"prefill_queue": wait})


@pytest.mark.parametrize(
    ("stops", "worker", "held"), [(decode_stops, "decode-0", 4), (prefill_stops, "prefill-0", 5)]
)
def test_a_worker_that_did_nothing_is_named_and_no_cause_is_blamed(
    stops: object, worker: str, held: int
) -> None:
    world = World()
    usual(world)
    assert callable(stops)
    stops(world)

    loaded = world.loaded()
    answer = diagnose_loaded(loaded, loaded.objectives, round(world.seconds * 1e9))
    assert causes(world)["insufficient_evidence"] > 0.95
    assert f"{held} lost their time while a worker stood still" in answer.summary
    assert answer.causes[0].evidence[0].signal == "worker.stood_still"
    assert answer.causes[0].evidence[0].value == pytest.approx(FOR_S, abs=0.2)
    assert told(world)["no_progress_while_healthy"].startswith(f"{worker} did nothing for ")


@pytest.mark.parametrize(("phase", "worker"), [("decode_queue", "decode-1"), ("prefill_queue", "prefill-0")])
def test_requests_that_spans_only_bound_and_that_were_taken_at_once_show_who_stood_still(
    phase: str, worker: str
) -> None:
    """As Dynamo tells it: the phases are not known, but within which the time lies."""
    world = World()
    for number in range(20):
        world.request(0.5 * number, first_token=0.05, decode_worker=f"decode-{number % 3}")
    for number in range(4):
        late = 3.0 - 0.6 * number
        row = world.request(STOPS_AT + 0.6 * number, first_token=late, decode_worker="decode-1")
        world.rows[row] |= {"composite": late, "within": 1 << PHASE[phase], "input_tokens": 100.0}

    assert causes(world) == {"insufficient_evidence": 1.0}
    # from the first that was there on, not from when the worker had last done something
    assert told(world)["no_progress_while_healthy"].startswith(f"{worker} did nothing for 3.0 s")


def test_a_long_stream_a_little_slower_than_most_did_not_stand_still() -> None:
    """Of replayed incidents: 500 tokens at 40 ms where 35 are usual lose 2.5 s, and so long nobody came."""
    world = World(ttft=90.0)
    for number in range(20):
        world.request(float(number), USUAL, tpot=0.035, output=300)
    world.request(STOPS_AT - 10.0, USUAL, tpot=0.04, output=500)
    for number in range(3):
        world.request(STOPS_AT - 5.0 + number, USUAL | {"kv_transfer": 7.0}, tpot=0.035)

    with np.errstate(divide="ignore", invalid="ignore"):
        assert not standstills(world.situation())


def test_short_prompts_behind_a_long_one_show_no_worker_that_stood_still() -> None:
    world = World()
    usual(world)
    world.request(STOPS_AT, USUAL | {"prefill_compute": 4.0}, input_tokens=40_000.0)
    for number in range(4):
        wait = 4.0 - number + 0.02
        world.request(STOPS_AT + number, USUAL | {"prefill_queue": wait})

    assert "no_progress_while_healthy" not in told(world)


def test_streams_that_are_slow_while_nobody_comes_or_goes_do_not_show_that_nothing_was_done() -> None:
    world = World(ttft=9.0)
    usual(world)
    for number in range(4):
        world.request(STOPS_AT + 0.1 * number, USUAL, tpot=0.02 + 0.15, output=100)

    with np.errstate(divide="ignore", invalid="ignore"):
        assert not standstills(world.situation())


def test_a_worker_all_of_whose_imports_take_long_did_not_stand_still() -> None:
    world = World()
    for number in range(40):
        world.request(1.5 * number, USUAL | {"kv_import": 4.0})

    assert causes(world) == {"handover_overhead": 1.0}
    assert "no_progress_while_healthy" not in told(world)


def test_long_streams_that_are_slow_all_the_way_did_not_stand_still() -> None:
    world = World(ttft=9.0)
    for number in range(60):
        world.request(2.0 * number, USUAL, tpot=0.02 if number < 40 else 0.15, output=200)

    with np.errstate(divide="ignore", invalid="ignore"):
        assert not standstills(world.situation())


def test_what_stood_still_before_the_window_is_not_told_of_it() -> None:
    world = World()
    usual(world)
    decode_stops(world)
    for row in world.rows:
        row["inside"] = False
    for number in range(10):
        world.request(60.0 + number, USUAL | {"prefill_queue": 3.0})

    assert "no_progress_while_healthy" not in told(world)


def test_no_gap_in_which_a_worker_was_stuck_is_passed_over() -> None:
    rng = np.random.default_rng(7)
    stuck = 0
    for _ in range(400):
        side = _random_side(rng)
        marks = np.unique(np.concatenate(side.ends))
        marks = marks[np.isfinite(marks)]
        since, until = marks[:-1], marks[1:]
        worth = standstill._may_be_stuck(side, since, until)
        for at in range(len(since)):
            if standstill._stuck(side, float(since[at]), float(until[at])):
                stuck += 1
                assert worth[at]
    assert stuck > 100


def _random_side(rng: np.random.Generator) -> Side:
    """Requests of one worker that come bunched, with some of everything unknown."""

    def some(values: np.ndarray) -> np.ndarray:
        return np.where(rng.random(len(values)) < 0.15, np.nan, values)

    n = int(rng.integers(3, 12))
    there = np.sort(rng.choice([0.0, 4.0, 9.0], n) + rng.random(n))
    taken = there + rng.choice([0.05, 3.0, 6.0], n) * (0.9 + 0.1 * rng.random(n))
    end = taken + rng.choice([0.1, 4.0], n)
    first, lasted = some(end + 0.1), rng.choice([0.5, 6.0], n)
    last = first + lasted
    late = np.where(lasted > 1, rng.choice([4.0, 5.0, 0.0], n), np.nan)
    nothing = np.full(n, np.nan)
    stream = (first, last, late) if rng.random() < 0.5 else (nothing, nothing, nothing)
    return Side(
        np.arange(n), there, np.fmax(end, last), (some(taken), some(end), first, last),
        ((some(taken), some(end), np.full(n, 0.1)),), some(there), some(taken), np.full(n, 10.0),
        some(taken), some(end), *stream,
    )  # fmt: skip


def test_idle_time_before_others_wait_for_a_transfer_is_no_standstill() -> None:
    world = World()
    for number in range(20):
        world.request(0.5 * number, USUAL)
    prompt = {
        name: USUAL[name] for name in ("router_queue", "prefill_queue", "prefill_compute", "kv_publish")
    }
    handed = sum(prompt.values())

    def hand_over(waits: float, moves: float) -> dict[str, tuple[float, float]]:
        moved = handed + waits + moves
        return {
            "decode_queue": (handed, handed + waits), "kv_transfer": (handed + waits, moved),
            "kv_import": (moved, moved + 0.01), "first_decode_step": (moved + 0.01, moved + 0.03),
        }  # fmt: skip

    world.request(STOPS_AT - handed, prompt, hand_over(0.0, 3.0))
    for number in range(1, 5):
        after = 0.5 * number
        world.request(STOPS_AT - handed + after, prompt, hand_over(3.05 - after, 0.02))
    assert "no_progress_while_healthy" not in told(world)


def _behind_a_long_prompt(world: World, of_one_unrelated: float) -> None:
    for number in range(20):
        length = of_one_unrelated if number == 0 else 100.0
        world.request(
            0.5 * number, first_token=0.05, decode_worker=f"decode-{number % 3}", input_tokens=length
        )
    within = 1 << PHASE["prefill_queue"]
    for number, length in enumerate((5000.0, 100.0, 100.0, 100.0)):
        late = 3.0 - 0.6 * number
        row = world.request(STOPS_AT + 0.6 * number, first_token=late, decode_worker="decode-1")
        world.rows[row] |= {"composite": late, "within": within, "input_tokens": length}


@pytest.mark.parametrize("length", [100.0, np.nan])
def test_short_prompts_behind_a_long_one_show_no_standstill_though_one_length_is_unknown(
    length: float,
) -> None:
    world = World()
    _behind_a_long_prompt(world, length)
    assert "no_progress_while_healthy" not in told(world)


def test_the_worker_named_is_one_that_held_requests_that_missed() -> None:
    world = World()
    for number in range(20):
        world.request(float(number), USUAL)
        world.request(float(number), USUAL, prefill_worker="prefill-batch")
    for worker, at, long, limit in (("prefill-batch", 30.0, 20.0, 60.0), ("prefill-0", 100.0, 3.0, 1.0)):
        held = [world.request(at, USUAL | {"prefill_compute": long}, prefill_worker=worker)]
        for number in range(4):
            waits = USUAL | {"prefill_queue": long - 0.4 * number}
            held.append(world.request(at + 0.5 * number, waits, prefill_worker=worker))
        for row in held:
            met = world.rows[row]["ttft"] <= limit
            world.rows[row] |= {"ttft_limit": limit, "account": Account.MET if met else Account.MISSED}
    # one that was held on the other, and missed its tokens for another reason
    late = world.request(31.0, USUAL | {"prefill_queue": 19.0}, prefill_worker="prefill-batch", tpot=0.2)
    world.rows[late] |= {"ttft_limit": 60.0, "tpot_limit": 0.05, "account": Account.MISSED}
    assert told(world)["no_progress_while_healthy"].startswith("prefill-0 did nothing for ")
