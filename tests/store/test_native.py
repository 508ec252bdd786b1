"""Answers in Native: read as they come, and told when they break off."""

import io

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
