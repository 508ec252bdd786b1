"""Batches of which something fails: every body is stored once, or kept for another try."""

from collections.abc import Sequence

from collector.errors import BadBody, StoreError
from collector.receive.commit import commit
from collector.store import InsertResult
from tests.receive.bodies import body, unique_name


class Breaking:
    """Takes single bodies only; one of them breaks it in a way that no store foresees."""

    def __init__(self, broken: bytes, refused: int = 0):
        self.kept: list[bytes] = []
        self._broken = broken
        self._refused = {"bad_end": refused} if refused else {}

    def insert_traces(self, bodies: Sequence[bytes]) -> InsertResult:
        if self._broken in bodies:
            if len(bodies) > 1:
                raise BadBody("something in it")
            raise RuntimeError("nobody thought of this")
        self.kept += bodies
        return InsertResult(1, len(bodies), self._refused)

    insert_metrics = insert_traces


def test_the_neighbours_of_a_body_that_breaks_the_store_are_stored_once() -> None:
    bodies = [body(unique_name()) for _ in range(4)]
    sink = Breaking(bodies[3])
    results = commit(sink, bodies)
    assert results[:3] == [{}, {}, {}]
    assert isinstance(results[3], StoreError)
    assert str(results[3]) == "storing failed: RuntimeError: nobody thought of this"
    assert sink.kept == bodies[:3]


def test_a_body_that_only_the_store_can_read_is_stored_though_what_it_lost_is_not_known() -> None:
    unreadable = b"\xff\xff"
    sink = Breaking(b"", refused=1)
    assert commit(sink, [unreadable]) == [{}]
    assert sink.kept == [unreadable]
