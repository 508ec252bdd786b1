"""Requests that need more than a plain waterfall: composites, retries, no first token, no spans."""

from tests.web.shapes import NS, Interval, Json

MS = NS // 1000


def interval(
    phase: str, start_ms: float, end_ms: float, worker: str, attempt: int = 1, source: str = "observed"
) -> Interval:
    return (phase, (), round(start_ms * MS), round(end_ms * MS), worker, attempt, source, "")


def within(covers: tuple[str, ...], start_ms: float, end_ms: float, worker: str, reason: str) -> Interval:
    return ("", covers, round(start_ms * MS), round(end_ms * MS), worker, 1, "bounded", reason)


def plan(
    n: int, intervals: list[Interval], first_ms: float | None, last_ms: float | None, **more: object
) -> Json:
    end = round((last_ms or 0) * MS)
    return {
        "n": 100000 + n,
        "start": 0,
        "first": None if first_ms is None else round(first_ms * MS),
        "last": None if first_ms is None or last_ms is None else end,
        "end": end,
        "tokens": 4012,
        "steps": 64,
        "prefill": "dynamo-prefill-7c9f",
        "decode": "dynamo-decode-51aa",
        "outcome": "ok",
        "tenant": None,
        "intervals": intervals,
        **more,
    }


def composite() -> Json:
    """A transfer that no span splits from the decode worker's own waiting."""
    return plan(
        1,
        [
            interval("router_queue", 0, 3.1, "dynamo-frontend-0"),
            interval("tokenize", 0.4, 2.6, "dynamo-frontend-0"),
            interval("prefill_queue", 4.9, 9.2, "dynamo-prefill-7c9f", source="derived"),
            interval("prefill_compute", 9.2, 310.6, "dynamo-prefill-7c9f"),
            within(
                ("kv_transfer", "decode_queue", "kv_import"),
                316,
                861.4,
                "dynamo-decode-51aa",
                "handle_payload holds the wait for KV and the queue; no span splits them",
            ),
            interval("first_decode_step", 861.4, 874.9, "dynamo-decode-51aa", source="derived"),
            interval("network_streaming", 874.9, 875.6, "dynamo-frontend-0"),
            interval("decode", 874.9, 1570, "dynamo-decode-51aa"),
        ],
        876,
        1571.5,
        uncertainty=None,
        joined_by=["trace_id"],
        clocks=[{"worker": "dynamo-decode-51aa", "offset": 0.0004, "uncertainty": 0.0009}],
    )


def retried() -> Json:
    """A prefill worker died under the first attempt."""
    first, second = "prefill-2", "prefill-3"
    return plan(
        2,
        [
            interval("router_queue", 0, 2, "router-0"),
            interval("prefill_queue", 3, 120, first),
            interval("prefill_compute", 120, 600, first),
            interval("prefill_queue", 1804, 1830, second, 2),
            interval("prefill_compute", 1830, 2706, second, 2),
            interval("kv_publish", 2706, 2709, second, 2),
            interval("kv_transfer", 2640, 2790, "decode-1", 2),
            interval("decode_queue", 2709, 2805, "decode-1", 2),
            interval("kv_import", 2805, 2808, "decode-1", 2),
            interval("first_decode_step", 2808, 2826, "decode-1", 2),
            interval("network_streaming", 2826, 2827, "router-0", 2),
            interval("decode", 2826, 3600, "decode-1", 2),
        ],
        2827.4,
        3600.7,
        prefill=second,
        decode="decode-1",
        tenant="acme",
    )


def without_first_token() -> Json:
    """Timed out in the prefill queue."""
    waiting = [interval("router_queue", 0, 1.5, "router-0"), interval("prefill_queue", 2, 29998, "prefill-0")]
    return plan(
        3, waiting, None, 30000, outcome="timeout", prefill="prefill-0", decode=None, complete=False, steps=0
    )


def bare() -> Json:
    """Only the request itself was traced."""
    return plan(4, [], 640, 1480, prefill=None, decode=None, joined_by=[], uncertainty=0.021)


def odd_requests() -> dict[str, Json]:
    """By the name of the answer."""
    return {
        "composite": composite(),
        "retried": retried(),
        "censored": without_first_token(),
        "bare": bare(),
    }
