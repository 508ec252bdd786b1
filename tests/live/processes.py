"""Child processes of a live stack: started in a group of their own, logged, waited for, stopped or killed."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx

PORTS = (20_000, 32_000)


class NotReady(Exception):
    """A process died or did not answer in time; the message holds the end of its log."""


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody listens on; below 32768, for Dynamo reads some as 16 signed bits."""
    with contextlib.ExitStack() as stack:
        found: list[int] = []
        while len(found) < count:
            port = random.randrange(*PORTS)
            each = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                each.bind(("127.0.0.1", port))
                found.append(port)
        return found


def give_way(pid: int, by: int) -> None:
    """Lower the priority of a process's threads: those that it starts later inherit it."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.setpriority(os.PRIO_PROCESS, int(thread.name), os.getpriority(os.PRIO_PROCESS, 0) + by)


def go_first(pid: int) -> bool:
    """Let a process's threads run the moment they can, before all others; False where that is not allowed.

    What times tokens must not wait for what makes them. It needs privileges, and does nothing to the figures
    but to take the machine's own lag out of them.
    """
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setscheduler(int(thread.name), os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        return False
    return True


class Child:
    """One process and those it starts, in a process group that can be stopped, continued and killed."""

    def __init__(self, name: str, command: list[str], environment: Mapping[str, str], folder: Path) -> None:
        self.name = name
        self.command = command
        self.log = folder / f"{name}.log"
        self.stopped = False
        self._environment = dict(environment)
        self._folder = folder
        self._process: subprocess.Popen[bytes] = self._spawn()

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self.command,
                cwd=self._folder,
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_running(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and to all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """End it as a crash does."""
        self.signal(signal.SIGKILL)
        self._process.wait(30)

    def freeze(self) -> None:
        """Let it stand still."""
        self.stopped = True
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self.stopped = False
        self.signal(signal.SIGCONT)

    def restart(self) -> None:
        """Start it anew with the same command."""
        self._process = self._spawn()

    def stop(self, seconds: float = 20.0) -> None:
        """Ask it to end, so that it sends what it has; kill it when it does not."""
        if self.stopped:
            self.thaw()
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self.signal(signal.SIGKILL)
        self._process.wait(30)

    def wait_for(self, url: str, seconds: float = 300.0) -> float:
        """Wait until `url` answers 200; returns the seconds it took."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            if not self.is_running():
                raise NotReady(f"{self.name} ended with {self._process.returncode}:\n{self.log_end()}")
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(url, timeout=5).status_code == 200:
                    return time.monotonic() - began
            time.sleep(0.5)
        raise NotReady(f"{self.name} did not answer {url} in {seconds:.0f} s:\n{self.log_end()}")

    def wait_for_line(self, text: str, seconds: float = 60.0) -> str:
        """Wait until a line of its log holds `text`; returns that line."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            for line in self.log.read_text(errors="replace").splitlines():
                if text in line:
                    return line
            if not self.is_running():
                break
            time.sleep(0.1)
        raise NotReady(f"{self.name} never said {text!r}:\n{self.log_end()}")

    def log_end(self, lines: int = 30) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


@contextlib.contextmanager
def children() -> Iterator[list[Child]]:
    """A list of processes that are stopped at the end, the last one first."""
    started: list[Child] = []
    try:
        yield started
    finally:
        for child in reversed(started):
            child.stop()
