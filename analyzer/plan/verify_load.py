"""Queue utilisation worked out again for `verify`; shares no code with sizing."""

from dataclasses import dataclass
from math import floor, inf

from analyzer.plan.plain_loop import Constants, Row

WINDOW_S = 10.0


@dataclass(frozen=True)
class Load:
    """Offered rates at one moment of demand, and mean lengths."""

    requests: float
    uncached: float
    output: float
    mean_prompt: float
    mean_output: float


Queues = dict[str, tuple[float, float]]
"""(offered, service) per second by queue name."""


def loads(rows: list[Row], window_s: float = WINDOW_S) -> dict[str, Load]:
    """Load at mean, p95 and peak over whole windows."""
    count = floor(rows[-1][0] / window_s)
    slots = [[0.0, 0.0, 0.0] for _ in range(count)]
    for at, prompt, output, cached in rows:
        slot = floor(at / window_s)
        if slot < count:
            for k, amount in enumerate((1, prompt - cached, output)):
                slots[slot][k] += amount / window_s
    columns = [sorted(column) for column in zip(*slots, strict=True)]
    mean_prompt = sum(row[1] for row in rows) / len(rows)
    mean_output = sum(row[2] for row in rows) / len(rows)
    chosen = {
        "mean": [sum(column) / count for column in columns],
        "p95": [quantile(column, 0.95) for column in columns],
        "peak": [column[-1] for column in columns],
    }
    return {
        moment: Load(requests, uncached, output, mean_prompt, mean_output)
        for moment, (requests, uncached, output) in chosen.items()
    }


def quantile(ordered: list[float], q: float) -> float:
    """Quantile of ascending values, between two of them in proportion."""
    at = (len(ordered) - 1) * q
    low = floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def _seconds(c: Constants, context: float, tokens: float) -> float:
    return max(c.weights_s + c.context_s * context, c.compute_s * tokens) + c.overhead_s


def _seats(load: Load, c: Constants, kv_tokens: float) -> int:
    if kv_tokens == inf:
        return c.max_seqs
    return min(c.max_seqs, int(kv_tokens / (load.mean_prompt + load.mean_output)))


def two_pools(
    load: Load, c: Constants, prefill: int, decode: int, budget: int, kv_tokens: float, tpot_s: float,
    bytes_per_token: float, bytes_per_s: float,
) -> Queues:  # fmt: skip
    """Prefill, decode and transfer queues."""
    context = load.mean_prompt + load.mean_output / 2
    batch = 0
    while (
        batch < _seats(load, c, kv_tokens) and _seconds(c, (batch + 1) * context, batch + 1) <= tpot_s + 1e-12
    ):
        batch += 1
    return {
        "prefill": (load.uncached, prefill * budget / _seconds(c, 0, budget)),
        "decode": (load.output, decode * batch / _seconds(c, batch * context, batch)),
        "transfer": (load.requests * load.mean_prompt * bytes_per_token, prefill * bytes_per_s),
    }


def one_pool(load: Load, c: Constants, workers: int, chunk: int, kv_tokens: float) -> Queues:
    """The one queue of colocated workers: prompt work, or output when every seat is taken and it lags."""
    context = load.mean_prompt + load.mean_output / 2
    made = 0.0
    for batch in range(1, min(_seats(load, c, kv_tokens), chunk - 1) + 1):
        with_prompt, without = _seconds(c, batch * context, chunk), _seconds(c, batch * context, batch)
        prompts = workers * (chunk - batch) / with_prompt
        busy = load.uncached / prompts
        made = workers * batch * (busy / with_prompt + (1 - busy) / without)
        if busy >= 1 or made >= load.output:
            return {"colocated": (load.uncached, prompts)}
    return {"colocated": (load.output, made)}
