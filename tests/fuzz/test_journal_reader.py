"""Whatever lies in a segment file: it is read to its end, in bounded time, and only real records come back.

PDSCOPE_FUZZ_INPUTS sets how many inputs each test tries; the default run tries 2,000 and 100.
"""

import os
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collector.journal import Journal, JournalLimits
from collector.journal.format import (
    HEADER_SIZE,
    MARK,
    Record,
    Unreadable,
    make_header,
    make_record,
    read_header,
    read_records,
)
from tests.journal.test_journal import drain

INPUTS = int(os.environ.get("PDSCOPE_FUZZ_INPUTS") or 200)
SEED = zlib.crc32(b"salt" * 4)


def _segment(bodies: list[bytes]) -> bytearray:
    data = bytearray()
    for body in bodies:
        data += make_record(1, body, SEED) + body
    return data


bodies = st.lists(
    st.binary(max_size=60) | st.just(MARK * 9) | st.just(bytes(_segment([b"inner"]))), max_size=8
)
changes = st.lists(
    st.tuples(st.integers(0, 700), st.sampled_from(("set", "cut", "put")), st.binary(min_size=1, max_size=9)),
    max_size=5,
)


def _change(data: bytearray, edits: list[tuple[int, str, bytes]]) -> None:
    for at, change, piece in edits:
        at = min(at, len(data))
        if change == "set":
            data[at : at + len(piece)] = piece[: len(data) - at]
        elif change == "cut":
            del data[at : at + len(piece)]
        else:
            data[at:at] = piece


@given(bodies, changes)
@settings(max_examples=10 * INPUTS, deadline=None)
def test_every_byte_is_accounted_for_and_no_record_is_made_up(
    written: list[bytes], edits: list[tuple[int, str, bytes]]
) -> None:
    data = _segment(written)
    _change(data, edits)
    at = 0
    for item in read_records(bytes(data), 0, SEED):
        if isinstance(item, Record):
            # Only what was written may come back; a body inside a body was, too.
            assert bytes(item.body) in [*written, b"inner"]
            at = item.end
        else:
            assert isinstance(item, Unreadable)
            assert item.start == at
            assert item.end > item.start
            at = item.end
    assert at == len(data)


def test_a_file_full_of_marks_is_read_in_bounded_time() -> None:
    lengths = (1 << 20).to_bytes(4, "little")
    data = (MARK + lengths + bytes(5)) * 200_000
    assert len(list(read_records(data, 0, SEED))) == 1


@given(st.binary(max_size=400), st.booleans(), changes)
@settings(
    max_examples=INPUTS // 2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_directory_of_anything_opens_and_takes_new_records(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, headed: bool, edits: list[tuple[int, str, bytes]]
) -> None:
    directory: Path = tmp_path_factory.mktemp("journal")
    head = make_header(1, 1, b"salt" * 4)
    assert read_header(head).seed == SEED
    first = bytearray((head if headed else b"") + noise)
    second = bytearray(make_header(2, 1, b"salt" * 4) + _segment([b"whole"]))
    _change(first, edits)
    (directory / f"{1:016d}.pdj").write_bytes(first)
    (directory / f"{2:016d}.pdj").write_bytes(second)
    (directory / "stored").write_bytes(noise)
    journal = Journal(directory, JournalLimits(min_free_bytes=0))
    journal.append([(1, b"new")])
    found = [body for _, body in drain(journal)]
    assert found[-2:] == [b"whole", b"new"]
    journal.close()
    assert HEADER_SIZE > 0
