"""Reads beside each other: nobody waits behind others' reads, and none is left running."""

import threading
from collections.abc import Iterator

import pytest

from analyzer.beside import beside

PATIENCE_S = 60.0


@pytest.fixture
def others() -> Iterator[None]:
    """Every thread is busy with reads of somebody else."""
    go_on, busy = threading.Event(), threading.Barrier(3)

    def slow() -> None:
        busy.wait(PATIENCE_S)
        go_on.wait(PATIENCE_S)

    with beside() as reads:
        for _ in range(2):
            reads(slow)
        busy.wait(PATIENCE_S)
        yield
        go_on.set()


def test_reads_run_at_the_same_time() -> None:
    together = threading.Barrier(3)  # breaks unless all three are there at once
    with beside() as reads:
        asked = [reads(together.wait, PATIENCE_S) for _ in range(2)]
        mine = together.wait(PATIENCE_S)
    assert {mine, *(read.result() for read in asked)} == {0, 1, 2}


@pytest.mark.usefixtures("others")
def test_who_finds_no_thread_free_reads_by_itself_and_once() -> None:
    by: list[str] = []

    def read(number: int) -> int:
        by.append(threading.current_thread().name)
        return number

    with beside() as reads:
        asked = [reads(read, number) for number in range(3)]
    assert [reading.result() for reading in asked + asked] == [0, 1, 2, 0, 1, 2]
    assert by == [threading.current_thread().name] * 3


def test_a_read_that_fails_says_so_where_it_is_asked_for() -> None:
    with beside() as reads:
        failed = reads(int, "no number")
    with pytest.raises(ValueError, match="no number"):
        failed.result()


def test_after_an_error_nothing_runs() -> None:
    begun, done = threading.Event(), threading.Event()

    def read() -> None:
        begun.set()
        threading.Event().wait(0.2)
        done.set()

    def fails() -> None:
        with beside() as reads:
            reads(read)
            begun.wait(PATIENCE_S)
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert done.is_set()
