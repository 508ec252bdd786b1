"""Scrapes every target of every job, for as long as it is one. On a thread of its own."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

import aiohttp
from prometheus_client import CollectorRegistry

from collector.engines import ADAPTERS
from collector.errors import CollectorError, ConfigError
from collector.scrape.config import Job, ScrapeConfig
from collector.scrape.fetch import session
from collector.scrape.file_targets import TargetFiles
from collector.scrape.info import pages_of
from collector.scrape.metrics import ScrapeMetrics
from collector.scrape.pod_targets import Change, pod_changes
from collector.scrape.shares import Everything, Shares
from collector.scrape.target import Target
from collector.scrape.together import Submit, Together
from collector.scrape.wanted import wanted
from collector.scrape.worker_loop import Shared, WorkerLoop

_log = logging.getLogger(__name__)

LOOK_S = 5.0
"""How often files are looked at."""
DIVIDE_S = 1.0
"""How often it is looked whose targets are whose."""
_FIRST_RETRY_S, _LAST_RETRY_S = 1.0, 60.0


@dataclass
class _Running:
    loop: WorkerLoop
    task: "asyncio.Task[None]"


@dataclass
class _JobState:
    job: Job
    http: aiohttp.ClientSession
    targets: dict[str, Target] = field(default_factory=dict)
    """By URL, those that others scrape included."""
    running: dict[str, _Running] = field(default_factory=dict)
    """By URL, those that are scraped here."""


class Scraper:
    """`start()` once, then `stop()`."""

    def __init__(
        self,
        config: ScrapeConfig,
        submit: Submit,
        registry: CollectorRegistry,
        shares: Shares | None = None,
    ):
        """What is scraped goes to `submit`; what is counted is registered in `registry`.

        shares: whose targets are whose where several scrape; without it all are this one's.
        """
        self._config = config
        self._shares = shares or Everything()
        self._together = Together(submit)
        self._shared = Shared(
            self._together.submit, ScrapeMetrics(registry), wanted(ADAPTERS), pages_of(ADAPTERS)
        )
        self._jobs: list[_JobState] = []
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="pdscope-scrape", daemon=True)

    def start(self) -> None:
        """Begin to scrape. Raises ConfigError when certificates, or the cluster, can't be had; StoreError."""
        self._shares.start()
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            self._thread.join()
            with contextlib.suppress(CollectorError):
                self._shares.stop()
            raise self._failure

    def stop(self) -> None:
        """Stop asking. What was scraped is kept."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
        self._shares.stop()

    def _serve(self) -> None:
        try:
            asyncio.run(self._run())
        except BaseException as error:
            self._failure = error
            if self._ready.is_set():
                _log.exception("scraping stopped")
        finally:
            self._ready.set()

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        tasks = [asyncio.create_task(self._together.run())]
        try:
            for job in self._config.jobs:
                self._jobs.append(_JobState(job, session(job)))
            for state in self._jobs:
                tasks += self._watch(state)
            tasks.append(asyncio.create_task(self._divide_again()))
            self._ready.set()
            await self._stop.wait()
        finally:
            for state in self._jobs:
                tasks += [running.task for running in state.running.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for state in self._jobs:
                await state.http.close()

    def _watch(self, state: _JobState) -> Iterable["asyncio.Task[None]"]:
        self._apply(state, Change(come=state.job.targets))
        if state.job.files:
            yield asyncio.create_task(self._watch_files(state))
        if state.job.pods:
            yield asyncio.create_task(self._watch_pods(state))

    async def _watch_files(self, state: _JobState) -> None:
        files, known = TargetFiles(state.job), set[Target]()
        while True:
            try:
                files.changed()
            except ConfigError as error:
                self._no_news(state, error)
            now = set(files.targets)
            if now != known:
                self._apply(state, Change(now - known, dict.fromkeys(known - now, ("removed", False))))
                known = now
            await asyncio.sleep(LOOK_S)

    async def _watch_pods(self, state: _JobState) -> None:
        pause, known = _FIRST_RETRY_S, dict[str, Target]()
        while True:
            try:
                async for change in pod_changes(state.job, known):
                    self._apply(state, change)
                    pause = _FIRST_RETRY_S
                await asyncio.sleep(_FIRST_RETRY_S)
            except CollectorError as error:
                self._no_news(state, error)
                await asyncio.sleep(pause)
                pause = min(_LAST_RETRY_S, 2 * pause)

    def _no_news(self, state: _JobState, error: CollectorError) -> None:
        self._shared.metrics.discovery_failures.labels(state.job.name).inc()
        _log.error("targets of job %s can't be looked up, the last known stay: %s", state.job.name, error)

    def _apply(self, state: _JobState, change: Change) -> None:
        for gone, (why, lost) in change.gone.items():
            # Another target may have taken its place under the same address.
            if state.targets.get(gone.url) != gone:
                continue
            del state.targets[gone.url]
            if found := self._let_go(state, gone.url):
                found.left(why, lost)
        for come in change.come:
            before = self._let_go(state, come.url)
            if before and before.target.worker != come.worker:
                before.left("replaced", False)
            state.targets[come.url] = come
        self._divide(state)
        self._name_pods()
        self._show(state)

    async def _divide_again(self) -> None:
        while True:
            await asyncio.sleep(DIVIDE_S)
            for state in self._jobs:
                self._divide(state)

    def _divide(self, state: _JobState) -> None:
        """Scrape what is this collector's, and no more what has become another's."""
        for url, found in state.targets.items():
            mine = self._shares.mine(url)
            if mine and url not in state.running:
                worker = WorkerLoop(found, state.job, state.http, self._shared)
                state.running[url] = _Running(worker, asyncio.create_task(worker.run()))
            elif not mine:
                self._let_go(state, url)

    def _let_go(self, state: _JobState, url: str) -> WorkerLoop | None:
        """Scrape no longer what was scraped here."""
        running = state.running.pop(url, None)
        if running is None:
            return None
        running.task.cancel()
        return running.loop

    def _name_pods(self) -> None:
        """Exporters of the infrastructure name pods: tell whose they are."""
        found = {
            target.pod: target.worker
            for state in self._jobs
            for target in state.targets.values()
            if target.pod
        }
        if found != self._shared.pods:
            self._shared.pods = found

    def _show(self, state: _JobState) -> None:
        metrics, running = self._shared.metrics, state.running
        metrics.targets.labels(state.job.name).set_function(lambda: len(running))
        metrics.up.labels(state.job.name).set_function(
            lambda: sum(item.loop.up is True for item in list(running.values()))
        )
