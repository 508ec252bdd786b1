"""Time between asking for a transfer and its first byte is the path's only while the path is busy."""

import pytest

from tests.verdict.build import HEALTHY, World, causes, healthy


def _transfers(world: World, waited: float, every: float) -> None:
    """Transfers of 5 s, of which so many seconds passed before the first byte."""
    for number in range(40):
        start = 250 + every * number
        row = world.request(start, HEALTHY | {"kv_transfer": 5.0, "decode_queue": 0.01})
        asked = start + 0.34
        world.hand_off(
            row, published=start + 0.33, asked=asked, moved=asked + 5.0, imported=asked + 5.004,
            freed=asked + 5.004, freed_why=1, status=1, waited=waited,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("waited", "every", "cause"),
    [
        (4.98, 7.0, "handover_overhead"),
        (0.01, 7.0, "transfer_delay.slow_link"),
        (float("nan"), 7.0, "transfer_delay.slow_link"),
        (2.5, 1.0, "transfer_delay.slow_link"),
    ],
    ids=["idle path", "no wait", "not told", "others move meanwhile"],
)
def test_a_wait_for_the_first_byte(waited: float, every: float, cause: str) -> None:
    world = World()
    healthy(world)
    _transfers(world, waited, every)
    assert causes(world)[cause] > 0.95
