"""TensorRT-LLM's `/perf_metrics`, polled: it gives every record once, on the proxy's steady clock."""

import json
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from collector.errors import BadBody
from collector.receive.formats.trtllm_perf_metrics import body, is_perf_metrics, latest, records
from collector.scrape.errors import BadPage

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class PerfMetrics:
    """Answers of one proxy as trace exports.

    Its steady clock is this machine's when it runs here. Elsewhere a record can't have ended after it was
    polled: the smallest distance seen says when the clock began, late by the least time that any record
    waited for its poll. Durations within a record are exact either way.
    """

    def __init__(self, url: str):
        self._local = urlsplit(url).hostname in _LOOPBACK
        self._offset: float | None = time.time() - time.monotonic() if self._local else None

    def exports(self, answer: bytes, polled_at: float) -> tuple[list[tuple[bytes, int]], int]:
        """(serialized trace exports with their spans, records that can't be read). Raises BadPage."""
        try:
            document = json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise BadPage("not_json", f"/perf_metrics is no JSON: {error}") from error
        if document == []:
            return [], 0
        if not is_perf_metrics(document):
            raise BadPage("not_perf_metrics", "/perf_metrics holds no records of disaggregated requests")
        found = [record for record, _ in records(document)]
        self._learn(found, polled_at)
        kept, bad = [], 0
        for record in found:
            try:
                kept.append(body(record, self._offset or 0.0))
            except BadBody:
                bad += 1
        return kept, bad

    def _learn(self, found: Sequence[object], polled_at: float) -> None:
        if self._local:
            self._offset = time.time() - time.monotonic()
            return
        newest = max((latest(record) for record in found), default=0.0)
        if newest > 0:
            bound = polled_at - newest
            self._offset = bound if self._offset is None else min(self._offset, bound)
