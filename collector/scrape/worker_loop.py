"""One target, scraped again and again."""

import asyncio
import logging
import random
import time
import zlib
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

import aiohttp
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from collector.engines.signals import InfoPage
from collector.errors import CollectorError
from collector.receive.commit import Refused
from collector.receive.export import Export, Kind
from collector.scrape import health
from collector.scrape.config import PERF_METRICS, Job
from collector.scrape.errors import BadPage, ScrapeFailed
from collector.scrape.fetch import get
from collector.scrape.info import learn
from collector.scrape.metrics import ScrapeMetrics
from collector.scrape.page import Layout, attribute, split
from collector.scrape.perf_metrics import PerfMetrics
from collector.scrape.target import Target
from collector.scrape.together import Submit
from collector.scrape.wanted import Wanted

_log = logging.getLogger(__name__)

_MOST_UNKEPT = 10_000

JITTER = 0.05
"""Share of the interval by which a scrape may be early or late: workers are not asked in step."""


@dataclass
class Shared:
    """What all loops of a scraper use."""

    submit: Submit
    metrics: ScrapeMetrics
    wanted: Wanted
    pages: Mapping[str, tuple[InfoPage, ...]]
    pods: Mapping[str, str] = field(default_factory=dict)
    """Worker by its pod's name; another object whenever it changes."""


class WorkerLoop:
    """Scrapes one target until it is cancelled, and says what became of each scrape."""

    def __init__(self, target: Target, job: Job, http: aiohttp.ClientSession, shared: Shared):
        self.target = target
        self.up: bool | None = None
        self._job = job
        self._http = http
        self._shared = shared
        self._wanted = shared.wanted.narrowed(job.also, job.only) if job.also or job.only else shared.wanted
        self._told: dict[str, str] | None = None
        self._layout: Layout | None = None
        self._unkept: deque[Export] = deque(maxlen=_MOST_UNKEPT)
        self._perf = PerfMetrics(target.url) if job.kind == PERF_METRICS else None

    async def run(self) -> None:
        """Scrape at the target's own place in the interval, which is the same after a restart."""
        interval = self._job.interval_s
        place = zlib.crc32(f"{self._job.name} {self.target.url}".encode()) / 2**32 * interval
        clock = asyncio.get_running_loop().time
        # Its first scrape does not wait for a place further away than a second: doctor and tests see it soon.
        await asyncio.sleep(place % min(interval, 1.0))
        while True:
            await self.once()
            due = interval - (clock() - place) % interval
            if due < interval / 4:
                # this turn's scrape was early
                due += interval
            await asyncio.sleep(due + random.uniform(-JITTER, JITTER) * interval)

    async def once(self) -> None:
        """Scrape now. What fails is a fact that is kept: `up` is 0, with the reason."""
        began = time.monotonic()
        try:
            body, kind = await get(self._http, self.target.url, self._job)
            taken = time.time_ns()
            if self._perf:
                self._keep_records(self._perf, body, taken)
            else:
                await self._keep_page(body, kind, taken)
        except ScrapeFailed as error:
            self._failed(error)
            return
        except Exception:
            _log.exception("scraping %s failed in pdscope itself", self.target.url)
            self._failed(ScrapeFailed("internal", "see the log"))
            return
        self._shared.metrics.seconds.labels(self._job.name).observe(time.monotonic() - began)
        self._shared.metrics.scrapes.labels(self._job.name).inc()
        self.up = True

    def left(self, why: str, lost: bool) -> None:
        """Say that it is no target any more."""
        self._keep_points(health.left(self._resource(), time.time_ns(), why, lost, self._known_as), 2)

    def _failed(self, error: ScrapeFailed) -> None:
        self.up = False
        # It may come back as another process, started with other arguments.
        self._told = None
        self._shared.metrics.failures.labels(self._job.name, error.reason).inc()
        self._keep_points(health.failed(self._resource(), time.time_ns(), error.reason, self._known_as), 2)

    async def _keep_page(self, body: bytes, kind: str, taken: int) -> None:
        try:
            text = body.decode()
        except UnicodeDecodeError as error:
            raise BadPage("not_text", f"{self.target.url}: not UTF-8 text (byte {error.start})") from error
        keys, numbers, left_out = split(text, self._wanted, kind == "application/openmetrics-text")
        if not keys and "<html" in text[:1000].lower():
            raise BadPage("not_metrics", f"{self.target.url} is a web page, not a metrics page")
        if len(keys) > self._job.max_series:
            raise BadPage(
                "too_many_series", f"{len(keys):,} series, the limit is {self._job.max_series:,} (max_series)"
            )
        layout = await self._laid_out(keys)
        export = layout.fill(numbers, taken) + health.answered(self._resource(), taken, self._known_as)
        self._shared.metrics.left_out.labels(self._job.name).inc(left_out)
        self._keep_points(export, layout.points + 1)

    async def _laid_out(self, keys: list[str]) -> Layout:
        layout, pods = self._layout, self._shared.pods
        if layout is None or self._told is None or layout.keys != keys or layout.pods is not pods:
            names = [key.split(" ", 3)[2] for key in keys if key.startswith("# TYPE ")]
            if self._told is None:
                pages = self._shared.pages.get(self._wanted.system(names), ())
                self._told = await learn(self._http, self.target.url, self._job, pages)
            layout = self._layout = Layout(keys, self._resource(), self._wanted, pods)
        return layout

    @property
    def _known_as(self) -> str:
        """How requests name the process that answered last."""
        return self._layout.own_name if self._layout else ""

    def _keep_records(self, perf: PerfMetrics, answer: bytes, taken: int) -> None:
        exports, bad = perf.exports(answer, taken / 1e9)
        if bad:
            self._shared.metrics.failures.labels(self._job.name, "bad_record").inc(bad)
        # The proxy gives each record once: what could not be kept is tried again.
        again = [self._unkept.popleft() for _ in range(len(self._unkept))]
        for export in (*again, *(Export(Kind.TRACES, body, spans) for body, spans in exports)):
            self._keep(export, self._unkept.append)
        self._keep_points(health.answered(self._resource(), taken), 1)

    def _resource(self) -> list[KeyValue]:
        # What configuration says goes before what the engine says.
        return [
            attribute(key, value) for key, value in {**(self._told or {}), **self.target.resource}.items()
        ]

    def _keep_points(self, body: bytes, points: int) -> None:
        """A refusal costs these points alone: the next scrape is soon, and counters lose nothing by it."""
        self._keep(Export(Kind.METRICS, body, points), lambda _: None)

    def _keep(self, export: Export, refused: Callable[[Export], None]) -> None:
        """Down the way of every export: journal, then store."""

        def ended(done: "Future[Refused]") -> None:
            error = None if done.cancelled() else done.exception()
            if error is not None:
                self._count_refusal(error)
                refused(export)

        try:
            self._shared.submit(export, "scrape").add_done_callback(ended)
        except CollectorError as error:
            self._count_refusal(error)
            refused(export)
            return
        self._shared.metrics.points.labels(self._job.name).inc(export.items)

    def _count_refusal(self, error: BaseException) -> None:
        self._shared.metrics.refused.labels(self._job.name, type(error).__name__).inc()
