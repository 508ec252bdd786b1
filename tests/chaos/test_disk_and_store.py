"""A disk that fills up or fails, a store that is away, a clock that jumps back: nothing is lost."""

import contextlib
import errno
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from prometheus_client import CollectorRegistry

from collector.errors import StoreError
from collector.journal import Journal, JournalLimits
from collector.journal.disk import Disk
from collector.receive import OtlpReceiver, ReceiveSettings
from collector.store import InsertResult, Store
from tests.chaos.load import Senders, Tally
from tests.chaos.server import check_assembled, serve
from tests.paths import PROJECT

LONG = bool(os.environ.get("PDSCOPE_CHAOS_KILLS"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 96 MiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", str(mount)]
    done = subprocess.run(command, capture_output=True, text=True, check=False) if os.geteuid() == 0 else None
    if done is None or done.returncode:
        pytest.skip(f"mounting a tmpfs needs root: {done.stderr.strip() if done else 'not root'}")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


def _ready(api: str) -> tuple[int, str]:
    answer = httpx.get(f"{api}/readyz", timeout=10)
    return answer.status_code, answer.text


def _await(holds: object, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _say(capsys: pytest.CaptureFixture[str], what: str, data: Path, tally: Tally) -> None:
    with capsys.disabled():
        print(f"\n{what}: ", end="")
        check_assembled(data, tally)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("kept_free", ["1", "20000000"], ids=["no room left", "nearly full"])
def test_a_full_disk_refuses_says_so_and_recovers_by_itself(
    small_disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kept_free: str
) -> None:
    data = small_disk / "data"
    log = tmp_path / "log"
    senders = Senders(3)
    with serve(data, "--journal-min-free-bytes", kept_free, log=log) as server:
        senders.port = server.port
        _await(lambda: len(senders.tally.acknowledged) > 20)
        assert _ready(server.api)[0] == 200

        free = Disk().free_bytes(small_disk)
        with (small_disk / "ballast").open("wb") as ballast, contextlib.suppress(OSError):
            ballast.write(bytes(free if kept_free == "1" else free - 10_000_000))
            ballast.flush()
        refused = senders.tally.refused
        _await(lambda: senders.tally.refused > refused + 5)
        status, why = _ready(server.api)
        assert status == 503
        assert "free" in why or "journal" in why or "store" in why

        os.truncate(small_disk / "ballast", 0)
        before = len(senders.tally.acknowledged)
        _await(lambda: len(senders.tally.acknowledged) > before + 20)
        _await(lambda: _ready(server.api)[0] == 200)
        senders.port = None
        tally = senders.stop()
        server.kill()
    serve(data, log=log).stop()
    _say(capsys, f"disk full ({kept_free} bytes kept free)", data, tally)
    assert tally.refused


class _WornDisk(Disk):
    """The system's calls; every seventh sync fails as a worn disk's does, every eleventh write is cut."""

    def __init__(self) -> None:
        self.syncs = self.writes = self.failed = 0

    def write(self, file: int, buffers: Sequence[bytes]) -> None:
        self.writes += 1
        if self.writes % 11 == 0:
            self.failed += 1
            os.write(file, b"".join(buffers)[: self.writes])
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().write(file, buffers)

    def sync(self, file: int) -> None:
        self.syncs += 1
        if self.syncs % 7 == 0:
            self.failed += 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().sync(file)


class _Away:
    """The real store, of which nothing is heard while `away` is set."""

    def __init__(self, store: Store):
        self._store = store
        self.away = threading.Event()

    def insert_traces(self, bodies: Sequence[bytes]) -> InsertResult:
        if self.away.is_set():
            raise StoreError("Code: 210. DB::NetException: Connection refused")
        return self._store.insert_traces(bodies)

    def insert_metrics(self, bodies: Sequence[bytes]) -> InsertResult:
        return self._store.insert_metrics(bodies)


def _receiver(sink: _Away, journal: Journal) -> OtlpReceiver:
    receiver = OtlpReceiver(
        sink, ReceiveSettings("127.0.0.1:0", "127.0.0.1:0", own_span_ratio=0), CollectorRegistry(), journal
    )
    receiver.start()
    return receiver


def test_writes_and_syncs_that_fail_cost_retries_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store.open(tmp_path)
    disk = _WornDisk()
    journal = Journal(tmp_path / "journal", JournalLimits(min_free_bytes=0, segment_bytes=50_000), disk)
    receiver = _receiver(_Away(store), journal)
    senders = Senders(4)
    senders.port = receiver.grpc_port
    _await(lambda: disk.failed > 20 and len(senders.tally.acknowledged) > 100)
    tally = senders.stop()
    receiver.stop()
    journal.close()
    store.close()
    _say(capsys, f"{disk.failed} failed writes and syncs of {disk.syncs}", tmp_path, tally)
    assert tally.refused > 5


@pytest.mark.timeout(180)
def test_a_store_that_is_away_for_a_while_gets_everything_afterwards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Long form: away for a minute."""
    seconds = 60 if LONG else 4
    store = Store.open(tmp_path)
    sink = _Away(store)
    journal = Journal(tmp_path / "journal", JournalLimits(min_free_bytes=0, max_bytes=600_000))
    receiver = _receiver(sink, journal)
    senders = Senders(4)
    senders.port = receiver.grpc_port
    _await(lambda: len(senders.tally.acknowledged) > 20)
    sink.away.set()
    _await(lambda: receiver.troubles())
    time.sleep(seconds)
    held = journal.held_bytes
    assert held <= 600_000
    assert any("Connection refused" in trouble for trouble in receiver.troubles())
    sink.away.clear()
    before = len(senders.tally.acknowledged)
    _await(lambda: not receiver.troubles())
    _await(lambda: len(senders.tally.acknowledged) > before + 20)
    tally = senders.stop()
    receiver.stop()
    journal.close()
    store.close()
    _say(capsys, f"store away for {seconds} s, {held:,} bytes in the journal by then", tmp_path, tally)


_JUMPY = """
import sys, time
real, real_ns, began = time.time, time.time_ns, time.monotonic()
def back(): return 3600 * int((time.monotonic() - began) / 0.7)
time.time, time.time_ns = lambda: real() - back(), lambda: real_ns() - back() * 10**9
from analyzer.cli.main import main
sys.argv = ["pdscope", *sys.argv[1:]]
main()
"""


def test_a_clock_that_jumps_back_again_and_again_loses_and_doubles_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process' own clock goes back an hour every 0.7 s; between the runs it is killed."""
    program = tmp_path / "jumpy.py"
    program.write_text(_JUMPY)
    data, senders = tmp_path / "data", Senders(3)
    for _ in range(2):
        before = len(senders.tally.acknowledged)
        with serve(data, log=tmp_path / "log", program=[str(program)], PYTHONPATH=str(PROJECT)) as server:
            senders.port = server.port
            _await(lambda before=before: len(senders.tally.acknowledged) > before + 100)
            time.sleep(1.5)
            server.kill()
        senders.port = None
    tally = senders.stop()
    serve(data, log=tmp_path / "log").stop()
    _say(capsys, "clock back an hour every 0.7 s", data, tally)
