"""Clock offsets: what causality proves always holds the truth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.clocks import (
    TOLERANCE_NS,
    UNBOUNDED_HIGH,
    UNBOUNDED_LOW,
    Bound,
    Contradiction,
    Offset,
    deployments,
    offsets,
    worth_applying,
)

MS = 1_000_000
CLOCKS = ("router", "prefill", "decode", "node-2")


@given(
    st.dictionaries(st.sampled_from(CLOCKS[1:]), st.integers(-(10**10), 10**10), min_size=3, max_size=3),
    st.lists(st.tuples(st.sampled_from(CLOCKS), st.sampled_from(CLOCKS), st.integers(0, 10**9)), max_size=30),
)
def test_the_true_offset_lies_in_its_interval(
    ahead: dict[str, int], events: list[tuple[str, str, int]]
) -> None:
    ahead = {**ahead, "router": 0}
    bounds = [Bound(a, b, gap + ahead[b] - ahead[a]) for a, b, gap in events if a != b]
    found = offsets(bounds, "router")
    assert isinstance(found, dict)
    for clock, offset in found.items():
        assert offset.low_ns <= ahead[clock] <= offset.high_ns


def test_clocks_in_step_are_not_shifted() -> None:
    bounds = [Bound("router", "prefill", 3 * MS), Bound("prefill", "router", 200 * MS)]
    assert offsets(bounds, "router") == {"prefill": Offset(0, -200 * MS, 3 * MS)}


def test_two_sides_give_the_middle_and_a_bound() -> None:
    bounds = [Bound("router", "decode", -4000 * MS), Bound("decode", "router", 4200 * MS)]
    found = offsets(bounds, "router")
    assert found == {"decode": Offset(-4100 * MS, -4200 * MS, -4000 * MS)}
    assert found["decode"].uncertainty_ns == 100 * MS


def test_one_side_shifts_nothing_unless_it_excludes_zero_and_leaves_the_bound_open() -> None:
    assert offsets([Bound("router", "prefill", 50 * MS)], "router") == {
        "prefill": Offset(0, UNBOUNDED_LOW, 50 * MS)
    }
    found = offsets([Bound("router", "prefill", -50 * MS)], "router")
    assert found == {"prefill": Offset(-50 * MS, UNBOUNDED_LOW, -50 * MS)}
    assert found["prefill"].uncertainty_ns is None
    found = offsets([Bound("prefill", "router", -50 * MS)], "router")
    assert found == {"prefill": Offset(50 * MS, 50 * MS, UNBOUNDED_HIGH)}


def test_bounds_reach_a_clock_through_others() -> None:
    bounds = [
        Bound("prefill", "node-2", 9000 * MS), Bound("node-2", "decode", -8500 * MS),
        Bound("router", "prefill", 1 * MS), Bound("decode", "router", 100 * MS),
        Bound("router", "decode", 500 * MS), Bound("prefill", "router", 700 * MS),
    ]  # fmt: skip
    found = offsets(bounds, "router")
    assert isinstance(found, dict)
    assert 8000 * MS <= found["node-2"].offset_ns <= 9001 * MS


def test_bounds_that_exclude_each_other_are_a_contradiction_not_a_crash() -> None:
    bounds = [Bound("router", "decode", -10 * MS), Bound("decode", "router", -10 * MS)]
    assert offsets(bounds, "router") == Contradiction(frozenset({"decode"}))


@pytest.mark.parametrize(
    ("applied", "again"), [(0, True), (-4100 * MS, False), (-4050 * MS, False), (-3000 * MS, True)]
)
def test_requests_are_assembled_again_only_when_the_applied_offset_is_out_of_bounds(
    applied: int, again: bool
) -> None:
    assert worth_applying(Offset(-4100 * MS, -4200 * MS, -4000 * MS), applied) is again


def test_the_tolerance_is_what_kept_clocks_differ_by() -> None:
    bounds = [Bound("router", "decode", -TOLERANCE_NS), Bound("decode", "router", 10 * MS)]
    assert offsets(bounds, "router")["decode"].offset_ns == 0  # type: ignore[index]


def test_deployments_that_share_no_request_are_judged_apart() -> None:
    mine = [Bound("router-a", "decode-a", -40 * MS), Bound("decode-a", "router-a", 45 * MS)]
    other = [Bound("router-b", "decode-b", 2 * MS), Bound("decode-b", "router-b", 9 * MS)]
    groups = deployments([mine[0], other[0], mine[1], other[1]])
    assert sorted(groups, key=lambda group: group[0].earlier) == [mine, other]
    assert offsets(groups[0], "router-a")["decode-a"].low_ns == -45 * MS  # type: ignore[index]
