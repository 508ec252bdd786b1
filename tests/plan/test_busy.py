"""Sums over requests that ran beside each other, against sums taken the long way."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyzer.plan.busy import _Line, _overlap
from analyzer.plan.outcome import Floats

times = st.floats(0, 100).map(lambda x: round(x, 3))
spans = st.lists(
    st.tuples(times, st.floats(0.1, 20), st.floats(0, 1000), st.floats(0, 50)), min_size=1, max_size=12
)


@given(spans, times, times)
def test_the_area_of_many_lines_is_the_sum_of_their_areas(
    rows: list[tuple[float, ...]], a: float, b: float
) -> None:
    begin, length, height, slope = np.array(rows).T
    low, high = sorted((a, b))
    line = _Line(begin, begin + length, height, slope)

    found = line.between(np.array([low]), np.array([high]))[0]

    start = np.clip(low, begin, begin + length) - begin
    stop = np.clip(high, begin, begin + length) - begin
    wanted = float(np.sum(height * (stop - start) + slope * (stop**2 - start**2) / 2))
    assert np.isclose(found, wanted, rtol=1e-6, atol=1e-4)


@given(st.lists(st.tuples(st.floats(0.01, 5), st.floats(0.01, 5), st.floats(0, 9)), max_size=8), times, times)
def test_overlap_is_what_each_interval_shares_times_its_rate(
    rows: list[tuple[float, ...]], a: float, b: float
) -> None:
    low, high = sorted((a, b))
    gaps, lengths, rate = (
        (np.array(column) for column in zip(*rows, strict=True)) if rows else (np.empty(0),) * 3
    )
    edges = np.cumsum(np.stack([gaps, lengths], axis=1).ravel()) if rows else np.empty(0)
    start, stop = edges[::2], edges[1::2]

    found = _overlap(np.array([low]), np.array([high]), start, stop, rate)[0]

    shared: Floats = np.clip(np.minimum(high, stop) - np.maximum(low, start), 0, None)
    assert np.isclose(found, float(np.sum(shared * rate)), atol=1e-9)
