"""What is appended comes back in order, once, after any cut; damage costs only what it hit."""

import errno
import math
import os
import stat
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.errors import StoreError
from collector.journal import Journal, JournalLimits
from collector.journal.disk import Disk
from collector.journal.errors import DiskFull, JournalFailed, JournalFull
from collector.journal.format import HEADER_SIZE, RECORD_SIZE

ROOM = JournalLimits(min_free_bytes=0)


def drain(journal: Journal, max_bytes: int = 1000) -> list[tuple[int, bytes]]:
    """Take everything, saying it is stored."""
    found: list[tuple[int, bytes]] = []
    while taken := journal.take(max_bytes):
        found += [(record.kind, bytes(record.body)) for record in taken.records]
        journal.stored(taken)
    return found


def segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.pdj"))


def write(directory: Path, *bodies: bytes, limits: JournalLimits = ROOM) -> None:
    """Append each body on its own and end as a kill does: nothing stored, nothing closed."""
    journal = Journal(directory, limits)
    for body in bodies:
        journal.append([(1, body)])
    _abandon(journal)


def _abandon(journal: Journal) -> None:
    for segment in journal._segments:
        segment.close()
    journal._stored.close()


bodies = st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=300)), max_size=20)


@given(groups=st.lists(bodies, max_size=6), size=st.integers(1, 4000))
@settings(max_examples=100, deadline=None)
def test_what_is_appended_comes_back_in_order_whatever_is_taken_at_once(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[tuple[int, bytes]]], size: int
) -> None:
    directory = tmp_path_factory.mktemp("journal")
    journal = Journal(directory, JournalLimits(segment_bytes=700, min_free_bytes=0))
    for group in groups:
        journal.append(group)
    assert journal.backlog_bytes == sum(RECORD_SIZE + len(body) for group in groups for _, body in group)
    assert drain(journal, size) == [record for group in groups for record in group]
    assert journal.backlog_bytes == 0
    journal.close()
    assert segments(directory) == []


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    write(tmp_path / "journal", b"prompt")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "journal").iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE((tmp_path / "journal").stat().st_mode) == 0o700


def test_what_was_not_stored_is_there_after_a_crash_and_what_was_is_not(tmp_path: Path) -> None:
    journal = Journal(tmp_path, ROOM)
    for number in range(5):
        journal.append([(1, b"%d" % number)])
    taken = journal.take(2 * (RECORD_SIZE + 1))
    assert taken is not None
    assert len(taken.records) == 2
    journal.stored(taken)
    _abandon(journal)

    again = Journal(tmp_path, ROOM)
    assert drain(again) == [(1, b"2"), (1, b"3"), (1, b"4")]
    again.close()


def test_replaying_twice_gives_the_same(tmp_path: Path) -> None:
    write(tmp_path, b"a", b"b")
    for _ in range(2):
        journal = Journal(tmp_path, ROOM)
        taken = journal.take(10_000)
        assert taken is not None
        assert [bytes(record.body) for record in taken.records] == [b"a", b"b"]
        assert journal.take(10_000) == taken
        _abandon(journal)


@given(cut=st.integers(0, 2 * (RECORD_SIZE + 40)))
@settings(max_examples=60, deadline=None)
def test_a_torn_tail_is_cut_and_the_rest_replayed(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    directory = tmp_path_factory.mktemp("journal")
    write(directory, b"x" * 40, b"y" * 40)
    path = segments(directory)[0]
    os.truncate(path, path.stat().st_size - cut)
    whole = 2 - -(-cut // (RECORD_SIZE + 40))

    journal = Journal(directory, ROOM)
    assert drain(journal) == [(1, b"x" * 40), (1, b"y" * 40)][:whole]
    assert journal.damages == []
    journal.close()
    assert not (directory / "aside").exists()


def test_zeros_that_a_power_cut_left_are_a_torn_tail(tmp_path: Path) -> None:
    write(tmp_path, b"kept")
    with segments(tmp_path)[0].open("ab") as file:
        file.write(bytes(5000))
    journal = Journal(tmp_path, ROOM)
    assert drain(journal) == [(1, b"kept")]
    assert journal.damages == []
    journal.close()


def test_a_corrupt_segment_is_set_aside_with_file_and_offset_and_the_rest_replays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    limits = JournalLimits(segment_bytes=200, min_free_bytes=0)
    write(tmp_path, *(b"%02d" % n * 30 for n in range(9)), limits=limits)
    damaged = segments(tmp_path)[1]
    data = bytearray(damaged.read_bytes())
    hit = HEADER_SIZE + RECORD_SIZE + 10
    data[hit] ^= 0xFF
    damaged.write_bytes(data)
    lost = bytes(data[HEADER_SIZE + RECORD_SIZE :][:2])

    journal = Journal(tmp_path, limits)
    found = [body[:2] for _, body in drain(journal)]

    assert found == [b"%02d" % n for n in range(9) if b"%02d" % n != lost]
    assert [(damage.file, damage.offset) for damage in journal.damages] == [(damaged, HEADER_SIZE)]
    assert f"{damaged}: {RECORD_SIZE + 60} bytes at offset {HEADER_SIZE}" in caplog.text
    assert (tmp_path / "aside" / damaged.name).read_bytes() == data
    journal.close()


def test_a_segment_whose_header_is_damaged_is_set_aside_whole(tmp_path: Path) -> None:
    limits = JournalLimits(segment_bytes=60, min_free_bytes=0)
    write(tmp_path, b"a" * 50, b"b" * 50, b"c" * 50, limits=limits)
    damaged = segments(tmp_path)[1]
    damaged.write_bytes(b"?" + damaged.read_bytes()[1:])
    journal = Journal(tmp_path, limits)
    assert drain(journal) == [(1, b"a" * 50), (1, b"c" * 50)]
    assert [(damage.offset, damage.problem) for damage in journal.damages] == [
        (0, "this is not a journal segment")
    ]
    assert (tmp_path / "aside" / damaged.name).exists()
    journal.close()


def test_a_body_that_looks_like_journal_records_is_not_read_as_some(tmp_path: Path) -> None:
    write(tmp_path / "other", b"smuggled")
    smuggled = segments(tmp_path / "other")[0].read_bytes()[HEADER_SIZE:]
    write(tmp_path / "journal", b"first", smuggled * 3, b"last")
    path = segments(tmp_path / "journal")[0]
    data = bytearray(path.read_bytes())
    data[data.index(smuggled) - 1] ^= 1
    path.write_bytes(data)
    journal = Journal(tmp_path / "journal", ROOM)
    assert drain(journal) == [(1, b"first"), (1, b"last")]
    journal.close()


def test_a_number_is_never_used_again_so_that_an_old_position_skips_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path, JournalLimits(min_free_bytes=0, max_age=0))
    journal.append([(1, b"stored" * 100)])
    drain(journal)
    first = segments(tmp_path)[0].name
    journal.tidy()
    assert segments(tmp_path) == []
    journal.close()

    write(tmp_path, b"new")
    assert segments(tmp_path)[0].name > first
    again = Journal(tmp_path, ROOM)
    assert drain(again) == [(1, b"new")]
    again.close()


def test_a_stored_body_is_unlinked_once_old_enough(tmp_path: Path) -> None:
    journal = Journal(tmp_path, JournalLimits(min_free_bytes=0, max_age=0.05))
    journal.append([(1, b"prompt")])
    journal.tidy()
    assert segments(tmp_path)
    drain(journal)
    time.sleep(0.06)
    journal.tidy()
    assert segments(tmp_path) == []
    journal.close()


def test_a_full_journal_refuses_until_something_is_stored(tmp_path: Path) -> None:
    limits = JournalLimits(max_bytes=1000, segment_bytes=300, min_free_bytes=0)
    journal = Journal(tmp_path, limits)
    while journal.refusal(RECORD_SIZE + 100) is None:
        journal.append([(1, bytes(100))])
    with pytest.raises(JournalFull, match=r"at most 1,000 \(journal_max_bytes\)"):
        journal.append([(1, bytes(100))])
    assert journal.held_bytes <= 1000
    kept = drain(journal)
    assert len(kept) >= 6
    journal.append([(1, b"again")])
    assert drain(journal) == [(1, b"again")]
    journal.close()


class _Failing(Disk):
    """The system's calls, of which one fails so many times as a worn disk's would."""

    def __init__(self, write: int = 0, sync: int = 0, code: int = errno.EIO, partial: bool = False):
        self.fail_writes, self.fail_syncs = write, sync
        self.code, self.partial = code, partial

    def write(self, file: int, buffers: Sequence[bytes]) -> None:
        if self.fail_writes:
            self.fail_writes -= 1
            if self.partial:
                os.write(file, b"".join(buffers)[:20])
            raise OSError(self.code, os.strerror(self.code))
        super().write(file, buffers)

    def sync(self, file: int) -> None:
        if self.fail_syncs:
            self.fail_syncs -= 1
            raise OSError(self.code, os.strerror(self.code))
        super().sync(file)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("call", ["write", "sync"])
@pytest.mark.parametrize(
    ("code", "error"), [(errno.EIO, JournalFailed), (errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull)]
)
def test_a_failed_write_or_sync_promises_nothing_and_the_next_one_works(
    tmp_path: Path, call: str, code: int, error: type[Exception], partial: bool
) -> None:
    disk = _Failing(code=code, partial=partial)
    journal = Journal(tmp_path, ROOM, disk)
    journal.append([(1, b"before")])
    setattr(disk, f"fail_{call}s", 1)
    with pytest.raises(error):
        journal.append([(1, b"refused")])
    journal.append([(1, b"after")])
    _abandon(journal)

    again = Journal(tmp_path, ROOM)
    assert drain(again) == [(1, b"before"), (1, b"after")]
    assert again.damages == []
    again.close()


def test_a_file_that_failed_to_sync_is_not_written_again(tmp_path: Path) -> None:
    disk = _Failing()
    journal = Journal(tmp_path, ROOM, disk)
    journal.append([(1, b"before")])
    disk.fail_syncs = 1
    with pytest.raises(JournalFailed):
        journal.append([(1, b"refused")])
    journal.append([(1, b"after")])
    assert len(segments(tmp_path)) == 2
    _abandon(journal)


def test_a_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot open the journal in .*file"):
        Journal(tmp_path / "file")


def test_it_tells_until_when_everything_is_stored(tmp_path: Path) -> None:
    def store_one() -> None:
        taken = journal.take(RECORD_SIZE + 1)
        assert taken is not None
        journal.stored(taken)

    journal = Journal(tmp_path / "journal", ROOM)
    assert journal.stored_until == math.inf
    first = time.time()
    journal.append([(1, b"a"), (1, b"b")])
    assert journal.stored_until < first
    store_one()
    second = time.time()
    journal.append([(1, b"c")])
    store_one()
    assert first <= journal.stored_until <= second
    store_one()
    assert journal.stored_until == math.inf
    journal.close()
