"""The life of hand-offs against the convention's definition, said once more in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.kv_ledger import State, ledger
from analyzer.verdict.tables import Freed, Outcome, Status
from tests.verdict.build import NAN, World

HORIZON = 600.0


def states(world: World, horizon: float = HORIZON) -> list[tuple[bool, str]]:
    loaded = world.loaded()
    with np.errstate(divide="ignore", invalid="ignore"):
        book = ledger(loaded.transfers, loaded.requests, horizon)
    return [(bool(d), State(int(s)).name) for d, s in zip(book.on_decode, book.state, strict=True)]


def a_request(world: World, start: float = 0.0, lasted: float = 10.0) -> int:
    return world.request(start, {"prefill_compute": 0.3}, lasted=lasted, outcome=Outcome.ERROR, tpot=None)


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({"published": 1.0, "imported": 2.0, "freed": 2.0, "freed_why": Freed.IMPORTED}, "IMPORTED"),
        ({"published": 1.0, "moved": 2.0, "status": Status.OK}, "IMPORTED"),
        ({"published": 1.0, "freed": 31.0, "freed_why": Freed.EXPIRED}, "EXPIRED"),
        ({"published": 1.0, "freed": 5.0, "freed_why": Freed.ABORTED}, "ABORTED"),
        ({"published": 1.0, "freed": 5.0, "freed_why": Freed.CANCELLED}, "RELEASED"),
        ({"published": 1.0, "freed": 5.0, "freed_why": Freed.WORKER_LOST}, "RELEASED"),
        ({"published": 1.0}, "HELD"),
        ({"published": 595.0}, "OPEN"),
        (
            {
                "published": 1.0,
                "moved": 2.0,
                "status": Status.FAILED,
                "freed": 3.0,
                "freed_why": Freed.ABORTED,
            },
            "ABORTED",
        ),
    ],
)
def test_the_producers_side(given_: dict[str, float], expected: str) -> None:
    world = World()
    world.hand_off(a_request(world), **given_)
    assert states(world) == [(False, expected)]


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({"reserved": 1.0, "reserved_until": 2.0, "imported": 3.0}, "IMPORTED"),
        (
            {"reserved": 1.0, "reserved_until": 300.0, "given_back": 300.0, "given_back_why": Freed.ABORTED},
            "NEVER_FILLED",
        ),
        ({"reserved": 1.0}, "NEVER_FILLED"),
        ({"reserved": 598.0}, "OPEN"),
    ],
)
def test_the_consumers_side(given_: dict[str, float], expected: str) -> None:
    world = World()
    world.hand_off(a_request(world), **given_)
    assert states(world) == [(True, expected)]


@pytest.mark.parametrize(
    ("outcome", "offered", "expected"),
    [
        # it stood in decode's queue until its deadline, or was answered by other means: it holds no room
        (Outcome.TIMEOUT, 1.0, "RELEASED"),
        (Outcome.OK, 1.0, "RELEASED"),
        # nobody says that a departed client's room was given back; and what was not offered can't be filled
        (Outcome.CANCELLED, 1.0, "NEVER_FILLED"),
        (Outcome.TIMEOUT, NAN, "NEVER_FILLED"),
    ],
)
def test_room_that_could_have_been_filled(outcome: Outcome, offered: float, expected: str) -> None:
    world = World()
    owner = world.request(0.0, {"prefill_compute": 0.3}, lasted=30.0, outcome=outcome)
    freed = {} if np.isnan(offered) else {"freed": 30.0, "freed_why": Freed.CANCELLED}
    world.hand_off(owner, published=offered, reserved=1.5, reserved_until=30.0, **freed)
    assert states(world)[-1] == (True, expected)


def test_a_hand_off_is_open_until_the_longer_of_lease_and_request_time() -> None:
    world = World()
    world.hand_off(a_request(world), published=100.0, lease_end=160.0)
    assert states(world, 159.0) == [(False, "OPEN")]
    assert states(world, 161.0) == [(False, "HELD")]


def test_kv_read_under_another_name_is_not_an_orphan() -> None:
    world = World()
    row = a_request(world)
    world.hand_off(row, published=1.0, freed=31.0, freed_why=Freed.EXPIRED)
    world.hand_off(row, asked=2.0, moved=3.0, imported=3.0, status=Status.OK)
    assert states(world) == [(False, "IMPORTED")]


def test_hand_offs_without_names_of_their_own_are_read_when_decode_gave_a_token() -> None:
    world = World()
    row = world.request(0, {"prefill_compute": 0.3, "first_decode_step": 0.02})
    world.hand_off(row, published=0.3)
    world.hand_offs[-1]["transfer_id"] = 11160318154034397263
    assert states(world) == [(False, "IMPORTED")]


@pytest.mark.parametrize(
    ("given_", "late"),
    [
        (
            {"lease_end": 31.0, "moved": 40.0, "expired": 31.0, "freed": 31.0, "freed_why": Freed.EXPIRED},
            True,
        ),
        (
            {"lease_end": 31.0, "moved": 20.0, "expired": 31.0, "freed": 31.0, "freed_why": Freed.EXPIRED},
            False,
        ),
        ({"lease_end": 31.0, "moved": 40.0, "freed": 40.0, "freed_why": Freed.IMPORTED}, False),
        ({"moved": 40.0}, False),
    ],
)
def test_late_reads(given_: dict[str, float], late: bool) -> None:
    world = World()
    world.hand_off(a_request(world, lasted=60.0), published=1.0, status=Status.OK, **given_)
    loaded = world.loaded()
    assert list(ledger(loaded.transfers, loaded.requests, HORIZON).late_read) == [late]


INSTANT = st.one_of(st.just(NAN), st.integers(0, 500).map(float))


@given(
    published=INSTANT,
    moved=INSTANT,
    freed=INSTANT,
    why=st.sampled_from(Freed),
    status=st.sampled_from(Status),
    reserved=INSTANT,
    given_back=INSTANT,
)
def test_orphans_are_those_of_the_definition(
    published: float,
    moved: float,
    freed: float,
    why: Freed,
    status: Status,
    reserved: float,
    given_back: float,
) -> None:
    why = why if np.isfinite(freed) else Freed.NO
    world = World()
    row = a_request(world)
    back = Freed.ABORTED if np.isfinite(given_back) else Freed.NO
    world.hand_off(
        row,
        published=published,
        moved=moved,
        freed=freed,
        freed_why=why,
        status=status,
        reserved=reserved,
        given_back=given_back,
        given_back_why=back,
    )
    loaded = world.loaded()
    with np.errstate(divide="ignore", invalid="ignore"):
        book = ledger(loaded.transfers, loaded.requests, HORIZON)
    found = {("decode" if d else "prefill") for d, o in zip(book.on_decode, book.orphan, strict=True) if o}
    assert found == expected_orphans(published, moved, why, status, reserved, loaded.requests.lasted[0])


def expected_orphans(
    published: float, moved: float, why: Freed, status: Status, reserved: float, p99: float
) -> set[str]:
    failed = status in (Status.FAILED, Status.EXPIRED, Status.PARTIAL)
    read = (np.isfinite(moved) or why is Freed.IMPORTED) and not failed
    out = set()
    if np.isfinite(published) and not read:
        ended_badly = why in (Freed.EXPIRED, Freed.ABORTED)
        held_too_long = why is Freed.NO and HORIZON - published > p99
        if ended_badly or held_too_long:
            out.add("prefill")
    if np.isfinite(reserved) and not read:
        out.add("decode")
    return out


@pytest.mark.parametrize(
    ("lease", "over", "past"), [(15.0, 1.3, False), (15.0, 2.5, True), (100.0, 4.0, False)]
)
def test_a_lease_that_is_found_to_have_ended_between_two_steps_was_kept(
    lease: float, over: float, past: bool
) -> None:
    """Seen live: a step of a second lay between the end of a lease of 15 s and its release."""
    world = World()
    gone = 1.0 + lease + over
    world.hand_off(
        a_request(world),
        published=1.0,
        lease_end=1.0 + lease,
        freed=gone,
        expired=gone,
        freed_why=Freed.EXPIRED,
    )
    loaded = world.loaded()
    with np.errstate(divide="ignore", invalid="ignore"):
        book = ledger(loaded.transfers, loaded.requests, HORIZON)
    assert book.past_lease.tolist() == [past]


@pytest.mark.parametrize(("read", "state"), [(0, "IMPORTED"), (6, "HELD")])
def test_an_answer_says_that_kv_was_read_where_reads_are_not_traced(read: int, state: str) -> None:
    world = World()
    for number in range(8):
        row = world.request(10.0 * number, {"prefill_compute": 0.3, "first_decode_step": 0.02})
        imported = {"imported": 10.0 * number + 0.31} if number < read else {}
        world.hand_off(row, published=10.0 * number + 0.3, **imported)
    assert states(world)[-1] == (False, state)
