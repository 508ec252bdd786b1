"""What pdscope knows of a scene's requests, asked in one statement over its ClickHouse endpoint.

A request of `/requests/{id}` is judged against all others of its window: two hundred such calls would cost a
busy machine more than the load itself.
"""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import httpx

from tests.live.client import Seen

STATEMENT = """
SELECT * FROM
(
    SELECT key, trace_id, client_request_id, system, outcome, is_complete, input_tokens, output_tokens,
        prefill_worker, decode_worker, ttft_seconds AS ttft, exposed_seconds AS exposed
    FROM request_log WHERE trace_id IN {traces:Array(String)}
) AS r
LEFT JOIN
(
    SELECT key, groupUniqArray(phase) AS phases FROM request_phases
    WHERE trace_id IN {traces:Array(String)} GROUP BY key
) AS p USING key
FORMAT JSONEachRow
"""


@dataclass(frozen=True)
class Known:
    """A running pdscope's ClickHouse endpoint."""

    url: str

    def of(self, seen: Iterable[Seen]) -> dict[str, dict[str, Any]]:
        """The requests that it has, by trace id; AssertionError when a trace holds more than one."""
        traces = "['" + "','".join(one.trace_id for one in seen) + "']"
        answer = httpx.post(self.url, params={"param_traces": traces}, content=STATEMENT, timeout=120)
        assert answer.status_code == 200, answer.text
        rows = [json.loads(line) for line in answer.text.splitlines()]
        found = {row["trace_id"]: row for row in rows}
        assert len(found) == len(rows), "a trace of one client request holds several requests"
        return found

    def ended(self, seen: list[Seen], seconds: float = 120.0) -> dict[str, dict[str, Any]]:
        """The requests once it has them all and knows how they ended, or what it has when time is over."""
        return self.once(seen, lambda row: bool(row["outcome"]), seconds)

    def once(
        self, seen: list[Seen], holds: Callable[[dict[str, Any]], bool], seconds: float = 120.0
    ) -> dict[str, dict[str, Any]]:
        """The requests once something holds for each of them, or what it has when time is over."""
        until = time.monotonic() + seconds
        while True:
            rows = self.of(seen)
            if (len(rows) == len(seen) and all(map(holds, rows.values()))) or time.monotonic() > until:
                return rows
            time.sleep(2)


def whole(row: dict[str, Any], phases: Iterable[str]) -> bool:
    """Whether a request has each of these phases."""
    return set(phases) <= set(row["phases"])
