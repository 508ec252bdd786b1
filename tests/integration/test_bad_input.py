"""What a user may get wrong: one clear line, exit code 2, nothing harmed."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.integration.running import FREE, bodies, pdscope, send, serving
from tests.paths import CAPTURES

CAPTURE = CAPTURES / "dynamo-1.6.1/kv-transfer-1GBs-sync/otlp_traces.bin.gz"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")


def _refused(*arguments: str | Path, says: tuple[str, ...]) -> None:
    """The command ends with code 2 and one line that says all of it."""
    failed = pdscope(*arguments)
    assert failed.returncode == 2, failed.stderr
    assert failed.stderr.count("\n") == 1, failed.stderr
    for words in says:
        assert words in failed.stderr
    assert failed.stdout == ""


@contextmanager
def _file_system(at: Path, size: str) -> Iterator[None]:
    at.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", at], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("may not mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", at], check=True)


def _fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"\0" * 4096) == 4096:
            pass


def test_an_unknown_key_is_led_to_the_nearest(tmp_path: Path) -> None:
    config, objectives, data = tmp_path / "pdscope.yaml", tmp_path / "slo.yaml", tmp_path / "data"
    config.write_text("data: x\notlp_gprc: 127.0.0.1:4317\n")
    objectives.write_text("objectives:\n  - name: chat\n    tfft: 1\n    tpot: 0.1\n")
    _refused("serve", "--config", config, says=(f"{config}:2", "otlp_gprc", "did you mean 'otlp_grpc'?"))
    _refused("serve", "--slo", objectives, "--data", data, *FREE, says=(f"{objectives}:3", "'ttft'?"))
    assert not data.exists()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    none = tmp_path / "none.yaml"
    for option in ("--slo", "--config"):
        _refused("serve", option, none, "--data", tmp_path / "data", *FREE, says=(str(none), "No such file"))
    _refused("import", none, "--data", tmp_path / "data", says=(str(none), "no such file"))


@pytest.mark.parametrize("listener", ["api", "otlp-grpc", "otlp-http"])
def test_a_port_in_use_is_named_and_its_holder_left_alone(tmp_path: Path, listener: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        taken = f"127.0.0.1:{holder.getsockname()[1]}"
        says = ("cannot listen", taken)
        _refused("serve", "--data", tmp_path / "data", *FREE, f"--{listener}", taken, says=says)
        socket.create_connection(holder.getsockname()).close()
    # The directory is free again for the next try.
    with serving(tmp_path / "data"):
        pass


@as_root
def test_a_read_only_directory_is_named(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with _file_system(disk, "64m"):
        with serving(disk / "data"):
            pass
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for command in (("serve", *FREE), ("report",), ("explain", "x"), ("import", CAPTURE)):
            _refused(*command, "--data", disk / "data", says=(str(disk / "data"), "Read-only"))


@as_root
def test_a_disk_without_space_is_named(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with _file_system(disk, "1m"):
        _refused("serve", "--data", disk / "data", *FREE, says=(str(disk / "data"), "no space"))
        _fill(disk)
        _refused("serve", "--data", disk / "new", *FREE, says=(str(disk / "new"), "space"))


def test_a_second_process_names_the_first_and_leaves_it_alone(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as first:
        running = (f"pdscope process {first.process.pid}", first.api)
        _refused("serve", "--data", tmp_path / "data", *FREE, says=running)
        send(first, bodies(CAPTURE))
        first.settle()
        assert len(first.requests()) == 20


def test_a_question_mark_in_the_directory_is_refused(tmp_path: Path) -> None:
    _refused("serve", "--data", tmp_path / "a?b", *FREE, says=("a?b", "'?'"))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_into_the_working_directory(tmp_path: Path) -> None:
    """/proc cannot be written by anybody, root included."""
    with serving(tmp_path / "data", cwd=Path("/proc")) as server:
        send(server, bodies(CAPTURE))
        server.settle()
        assert len(server.requests()) == 20
    loaded = pdscope("import", CAPTURE, "--data", tmp_path / "imported", cwd=Path("/proc"))
    assert loaded.returncode == 0, loaded.stderr
