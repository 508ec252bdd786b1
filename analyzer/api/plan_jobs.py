"""Plans under way and done: one runs at a time; the newest are kept, on disk where the store is."""

import hashlib
import json
import logging
import queue
import re
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analyzer.plan.errors import PlanError
from analyzer.plan.stopping import Stopped, check, stoppable
from collector.errors import CollectorError, Unavailable

log = logging.getLogger(__name__)

MOST_WAITING = 4
MOST_KEPT = 50
_ID = re.compile(r"[0-9a-f]{16}")

Report = Callable[[int, int], None]
Work = Callable[["Job", Report], dict[str, Any]]
"""Does a plan; may set the job's announcement and receipt, and returns the answer."""


@dataclass
class Job:
    """One plan. `receipt` is (JSON, CSV) where there is one, `requests` what lies beside it, gzipped."""

    id: str
    kind: str
    asked: dict[str, Any]
    state: str = "waiting"
    announcement: str | None = None
    done: int = 0
    of: int = 0
    error: str | None = None
    answer: dict[str, Any] | None = None
    receipt: tuple[dict[str, Any], str] | None = None
    requests: bytes | None = None
    work: Work | None = field(default=None, repr=False)

    def public(self) -> dict[str, Any]:
        """What REST says of it."""
        names = ("id", "kind", "state", "announcement", "done", "of", "error", "asked", "answer")
        return {name: getattr(self, name) for name in names}


class Planner:
    """Runs plans one after the other on a thread of its own, which uses all cores through processes."""

    def __init__(self, directory: Path | None):
        """`directory`: where finished plans are kept, so that a link to one lasts; None: in memory only."""
        self._directory = directory
        self._jobs: dict[str, Job] = {}
        self._waiting: queue.Queue[Job] = queue.Queue()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def submit(self, kind: str, asked: dict[str, Any], work: Work) -> Job:
        """Queue a plan; the same question again is the same plan. Unavailable when too many wait."""
        id_ = hashlib.sha256(json.dumps([kind, asked], sort_keys=True).encode()).hexdigest()[:16]
        known = self.find(id_)
        if known is not None and known.state != "failed":
            return known
        with self._lock:
            if self._waiting.qsize() >= MOST_WAITING:
                raise Unavailable(f"{MOST_WAITING} plans wait already; ask again when one is done")
            job = Job(id_, kind, asked, work=work)
            self._jobs[id_] = job
            self._waiting.put(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="planner", daemon=True)
                self._thread.start()
        return job

    def find(self, id_: str) -> Job | None:
        """A plan by its id; None when there is none."""
        job = self._jobs.get(id_)
        if job is not None or self._directory is None or not _ID.fullmatch(id_):
            return job
        try:
            said = json.loads((self._directory / f"{id_}.json").read_text("utf-8"))
            receipt, requests = said.pop("receipt"), said.pop("requests", None)
            return Job(
                **said,
                receipt=tuple(receipt) if receipt else None,
                requests=b64decode(requests) if requests else None,
            )
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def stop(self) -> None:
        """Give up what runs and what waits."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(20)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                job = self._waiting.get(timeout=0.2)
            except queue.Empty:
                continue
            self._do(job)

    def _do(self, job: Job) -> None:
        def report(done: int, of: int) -> None:
            check()
            job.done, job.of = done, of

        job.state = "running"
        try:
            assert job.work is not None
            with stoppable(self._stopping.is_set):
                job.answer = job.work(job, report)
            job.state = "done"
        except (PlanError, CollectorError) as error:
            job.error, job.state = str(error), "failed"
        except Stopped:
            job.error, job.state = "the process ended before the plan was done", "failed"
        except Exception:
            log.exception("plan %s failed", job.id)
            job.error, job.state = "pdscope failed unexpectedly; its log has the details", "failed"
        finally:
            job.work = None
        self._keep(job)

    def _keep(self, job: Job) -> None:
        """Write a finished plan down and forget the oldest."""
        finished = [id_ for id_, other in self._jobs.items() if other.state in ("done", "failed")]
        for id_ in finished[:-MOST_KEPT]:
            del self._jobs[id_]
        if job.state != "done" or self._directory is None:
            return
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            requests = b64encode(job.requests).decode() if job.requests else None
            text = json.dumps({**job.public(), "receipt": job.receipt, "requests": requests})
            (self._directory / f"{job.id}.json").write_text(text, "utf-8")
            files = sorted(self._directory.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for path in files[:-MOST_KEPT]:
                path.unlink()
        except OSError as error:
            log.warning("plan %s is not kept on disk: %s", job.id, error)
