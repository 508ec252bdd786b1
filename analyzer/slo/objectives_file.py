"""`slo.yaml` while pdscope runs: read again when it changes; a bad one leaves the objectives as they are."""

import logging
import threading
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge

from analyzer.slo.objectives import Objectives, load_objectives
from collector.errors import ConfigError

log = logging.getLogger(__name__)

EVERY_S = 2.0
"""How often (seconds) the file is looked at."""

_Seen = tuple[int, int, int]
"""What tells two states of a file apart: device's inode, time of change (ns), size (bytes)."""


class ObjectivesFile:
    """The objectives in force. start() looks after the file on a thread of its own."""

    def __init__(self, path: Path | None, registry: CollectorRegistry):
        """Read the file; without a path the default objective stays for good. Raises ConfigError."""
        self._path = path
        self._seen = _seen(path)
        self._objectives = load_objectives(path)
        self._trouble: str | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._valid = Gauge(
            "pdscope_slo_file_valid",
            "1 when slo.yaml as it is now is in force, 0 when it is refused and older objectives stay.",
            registry=registry,
        )
        self._loaded = Gauge(
            "pdscope_slo_loaded_timestamp_seconds",
            "When the objectives in force were read.",
            registry=registry,
        )
        self._valid.set(1)
        self._loaded.set_to_current_time()

    def current(self) -> Objectives:
        """The objectives to judge by now."""
        return self._objectives

    @property
    def trouble(self) -> str | None:
        """Why the file as it is now is not in force, or None when it is."""
        return self._trouble

    def look(self) -> bool:
        """Read the file when it changed; say whether other objectives are in force than before."""
        seen = _seen(self._path)
        if seen == self._seen:
            return False
        self._seen = seen
        try:
            objectives = load_objectives(self._path)
        except ConfigError as error:
            self._trouble = f"{error}; the objectives read before stay in force"
            self._valid.set(0)
            log.warning("slo file refused: %s", self._trouble)
            return False
        changed, self._objectives, self._trouble = objectives != self._objectives, objectives, None
        self._valid.set(1)
        self._loaded.set_to_current_time()
        if changed:
            log.warning("%s: %d objectives are in force now", self._path, len(objectives.items))
        return changed

    def start(self, every_s: float = EVERY_S) -> None:
        """Look until stopped; without a file there is nothing to look at."""
        if self._path is None:
            return
        self._thread = threading.Thread(target=self._run, args=(every_s,), name="slo-file", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop looking; safe to call twice or before start."""
        self._stop.set()
        if self._thread:
            self._thread.join()

    def _run(self, every_s: float) -> None:
        while not self._stop.wait(every_s):
            try:
                self.look()
            except Exception:
                # whatever it was: the next change is looked at
                log.exception("slo file %s could not be looked at", self._path)
                self._trouble = f"{self._path}: could not be read; the log says why"
                self._valid.set(0)


def _seen(path: Path | None) -> _Seen | None:
    """The state of the file, followed through links as Kubernetes swaps them; None when it is not there."""
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
