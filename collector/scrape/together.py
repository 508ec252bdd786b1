"""Points of many workers, kept as one export: an insert alone costs as much as thousands of points."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

from collector.errors import CollectorError
from collector.receive.commit import Refused
from collector.receive.export import Export, Kind

Submit = Callable[[Export, str], "Future[Refused]"]
"""Keeps an export; raises CollectorError when it can't be taken now."""

EVERY_S = 2.0
"""How long points wait for company."""
_MOST_BYTES = 8 << 20


class Together:
    """Stands before a `Submit`: exports of points wait for company, others do not. For one event loop."""

    def __init__(self, submit: Submit):
        self._submit = submit
        self._waiting: list[tuple[Export, Future[Refused]]] = []
        self._bytes = 0

    def submit(self, export: Export, transport: str) -> "Future[Refused]":
        """The future ends when the export is kept, or with why it was not. Raises CollectorError."""
        if export.kind is not Kind.METRICS:
            return self._submit(export, transport)
        done: Future[Refused] = Future()
        self._waiting.append((export, done))
        self._bytes += len(export.body)
        if self._bytes >= _MOST_BYTES:
            self.send()
        return done

    async def run(self) -> None:
        """Send what waits, again and again, until cancelled; then once more."""
        try:
            while True:
                await asyncio.sleep(EVERY_S)
                self.send()
        finally:
            self.send()

    def send(self) -> None:
        """Send what waits now: concatenated exports are one valid export."""
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        if not waiting:
            return
        body = b"".join(export.body for export, _ in waiting)
        futures = [done for _, done in waiting]
        try:
            kept = self._submit(Export(Kind.METRICS, body, sum(e.items for e, _ in waiting)), "scrape")
        except CollectorError as error:
            for done in futures:
                done.set_exception(error)
            return
        kept.add_done_callback(lambda ended: _pass_on(ended, futures))


def _pass_on(ended: "Future[Refused]", futures: "list[Future[Refused]]") -> None:
    error = None if ended.cancelled() else ended.exception()
    for done in futures:
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result({})
