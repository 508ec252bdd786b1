"""Answers in Native: read as they come, and told when they break off."""

import io

import numpy as np
import pytest

from collector.store.native import NativeReader
from collector.store.store import Store

ASKED = "SELECT number AS n, [toFloat64(n), 0.5] AS pair, toString(n) AS text FROM numbers(3)"


def test_an_answer_that_breaks_off_is_no_shorter_answer(store: Store) -> None:
    whole = bytes(store._client().raw_query(ASKED, fmt="Native"))
    found = NativeReader(io.BytesIO(whole)).columns()
    assert found["n"].tolist() == [0, 1, 2]
    assert found["pair"].tolist() == [[0.0, 0.5], [1.0, 0.5], [2.0, 0.5]]
    assert found["text"].tolist() == ["0", "1", "2"]
    for cut in range(1, len(whole)):
        with pytest.raises(EOFError, match="bytes early"):
            NativeReader(io.BytesIO(whole[:cut])).columns()


def test_empty_arrays_among_others_are_rows_of_nan_whatever_block_they_come_in(store: Store) -> None:
    found = store.columns(
        "SELECT if(number < 4 OR number = 9, [], [toInt64(number), -9223372036854775808]) AS pair "
        "FROM numbers(12) SETTINGS max_block_size = 4"
    )["pair"]
    lacking = np.isnan(found).all(axis=1)
    assert np.flatnonzero(lacking).tolist() == [0, 1, 2, 3, 9]
    assert found[~lacking].tolist() == [[number, -(2.0**63)] for number in (4, 5, 6, 7, 8, 10, 11)]


def test_arrays_of_different_lengths_are_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="different lengths"):
        store.columns("SELECT range(number) AS pair FROM numbers(4)")
