"""Findings about the engines' own metrics, held against the spans."""

from collections import defaultdict

import numpy as np

from analyzer.verdict.attribution import Attribution
from analyzer.verdict.evidence import number
from analyzer.verdict.findings.finding import Finding
from analyzer.verdict.gauge_checks import (
    by_pool,
    counts_most,
    in_ms,
    is_transfer_rate,
    is_transfer_time,
    mean_transfer_s,
    told_of_transfers,
)
from analyzer.verdict.situation import Situation

OFF_BY = 2.0
"""From this factor on, a mean differs from what the spans show by more than rounding and sampling."""
BLIND = 3.0
ENOUGH_READINGS = 4
LEAST_HELD = 0.02
"""Share of a cache in use that no rounding hides."""
LEAST_HELD_TOKENS = 25_000.0
"""The same where nobody says how large the cache is: half a hundredth of five million tokens, what a node of
eight large accelerators holds at most (supplied).
"""
WORTH_COUNTING = 0.02
"""Share of the prompts' tokens: decode computes the last token of each again, and warm-ups count as well."""
ENOUGH_MOVED = 20
WAITING_PARTS = ("", "bootstrap", "prealloc", "transfer", "deferred", "capacity")


def ttft_definition_mismatch(s: Situation, _: Attribution) -> Finding | None:
    """An engine's own TTFT is clearly shorter than what clients waited."""
    r = s.requests
    ttft = r.ttft[r.inside & np.isfinite(r.ttft) & ~r.censored]
    if not len(ttft):
        return None
    for item in by_pool(s):
        factor = in_ms(item)
        if "time_to_first_token" not in item.metric or factor is None or item.mean is None:
            continue
        own = item.mean * factor / 1e3
        if own * 1.25 < float(ttft.mean()):
            where = f"{item.metric} of {item.pool or 'an engine'}"
            detail = f"{where} averages {own:.2f} s, clients waited {ttft.mean():.2f} s"
            return Finding("ttft_definition_mismatch", "info", detail)
    return None


def metric_blind_spot(s: Situation, _: Attribution) -> Finding | None:
    """A queue gauge of a pool that shows far fewer, or far more, than wait there by the spans."""
    for pool, workers, waiting in (
        ("prefill", s.pools.prefill_workers, s.pools.prefill_waiting),
        ("decode", s.pools.decode_workers, s.pools.decode_waiting),
    ):
        if not np.isfinite(s.requests.began(f"{pool}_queue")[s.requests.inside]).any():
            continue  # spans that say of nobody that it waited there say nothing of how many did
        for part in WAITING_PARTS:
            shown, true = _compared(s, workers.tolist(), waiting, part)
            if shown is None or max(shown, true) < 2.0:
                continue
            ratio = (shown + 0.5) / (true + 0.5)
            if not 1 / BLIND <= ratio <= BLIND:
                name = f"{pool}'s queue gauge" + (f" ({part})" if part else "")
                detail = f"{name} shows {shown:.1f} on average, {true:.1f} waited there by the spans"
                return Finding(
                    "metric_blind_spot", "warning", detail, None, number("shown", shown, "requests")
                )
    return None


def _compared(s: Situation, workers: list[int], waiting, part: str) -> tuple[float | None, float]:  # type: ignore[no-untyped-def]
    """Sum over workers of what a gauge shows, and of what the spans show at the same instants."""
    shown, true, seen = 0.0, 0.0, False
    for code in workers:
        series = s.loaded.readings.series("queue_depth", code, part)
        if series is None:
            continue
        seen = True
        shown += series.mean
        true += float(waiting.level(np.full(len(series.at), code, np.uint64), series.at).mean())
    return (shown if seen else None), true


def metric_counts_wrong_work(s: Situation, _: Attribution) -> Finding | None:
    """A prompt-token counter of decode grows by far more than the prompts that decode computed."""
    r = s.requests
    if not np.isfinite(r.local_prompt_tokens).any():
        return None
    names = {s.name(int(code)) for code in s.pools.decode_workers.tolist()}
    grown: dict[str, float] = defaultdict(float)
    for item in s.loaded.increases:
        if item.signal == "prompt_tokens_total" and item.part in ("", "local") and item.worker in names:
            grown[item.metric] += item.value or 0.0
    if not grown:
        return None
    metric = max(grown, key=grown.__getitem__)
    counted, computed = grown[metric], float(np.nansum(r.local_prompt_tokens))
    if counted <= max(OFF_BY * computed, WORTH_COUNTING * float(np.nansum(r.input_tokens))):
        return None
    what = f"{computed:.0f} tokens of prompts" if computed else "no prompt"
    detail = f"{metric} grows by {counted:.0f} on decode, which computed {what}"
    return Finding("metric_counts_wrong_work", "info", detail)


def impossible_rate(s: Situation, _: Attribution) -> Finding | None:
    """A reported transfer rate above the line."""
    line = s.transfers.link_gb_s[np.isfinite(s.transfers.link_gb_s)]
    if not len(line):
        return None
    top = float(line.max())
    for item in told_of_transfers(s):
        if is_transfer_rate(item.metric) and item.above(1.05 * top):
            told = f"{item.metric} tells of rates above the path's {top:.0f} GB/s"
            detail = f"{told} ({item.mean:.0f} GB/s on average); it is discarded"
            return Finding(
                "impossible_rate", "warning", detail, None, number("kv.link", top, "GB/s", "supplied")
            )
    return None


def metric_window_mismatch(s: Situation, _: Attribution) -> Finding | None:
    """A transfer latency metric that spans far more, or less, than transfers took."""
    true = mean_transfer_s(s)
    if true is None:
        return None
    for item in told_of_transfers(s):
        factor = in_ms(item)
        if not is_transfer_time(item.metric) or factor is None or not counts_most(item, s):
            continue
        ratio = item.mean * factor / (true * 1e3)
        if not 1 / OFF_BY < ratio < OFF_BY:
            told = f"{item.metric} averages {item.mean * factor:.0f} ms"
            detail = f"{told}, the spans' transfers {true * 1e3:.0f} ms"
            return Finding(
                "metric_window_mismatch",
                "warning",
                detail,
                None,
                number("reported_over_true", ratio, "ratio", "derived"),
            )
    return None


def metric_dead(s: Situation, _: Attribution) -> Finding | None:
    """A metric of hand-offs, or of a queue, that stays at 0 while the spans show that it must move."""
    r = s.requests
    crossed = r.inside & r.answered & (r.prefill_worker != 0) & (r.decode_worker != 0)
    crossed &= (r.prefill_worker != r.decode_worker) & ~(r.local_prompt_tokens > 0)
    moved = max(int(np.isfinite(s.transfers.seconds).sum()), int(crossed.sum()))
    waiting = [s.pools.prefill_waiting, s.pools.decode_waiting]
    at = np.linspace(0.0, max(s.horizon, 1.0), 50)
    queued = max(float(occupancy.total(at).mean()) for occupancy in waiting)
    for item in s.loaded.silent:
        about_transfers = any(
            word in item.metric.lower() for word in ("transfer", "xfer", "nixl", "mooncake")
        )
        if (about_transfers and moved >= ENOUGH_MOVED) or (not about_transfers and queued >= 2.0):
            seen = f"{moved} hand-offs" if about_transfers else f"{queued:.1f} requests waiting"
            detail = f"{item.metric} reads 0 at all of {item.points} readings while the spans show {seen}"
            return Finding("metric_dead", "warning", detail)
    return _dead_gauge_of_decode(s)


def _dead_gauge_of_decode(s: Situation) -> Finding | None:
    """A gauge of what runs on a decode worker, or of its cache, that never leaves 0 beside its streams.

    Of prefill nothing is said: prompts may come and go between two readings, and engines differ in whether
    they count them as running.
    """
    for code in s.pools.decode_workers.tolist():
        for signal, what in (("running", "running requests"), ("kv_used_fraction", "KV cache use")):
            series = s.loaded.readings.series(signal, code)
            if series is None or len(series.at) < ENOUGH_READINGS or series.value.any():
                continue
            worker = np.full(len(series.at), code, np.uint64)
            streams = float(s.pools.decode_running.level(worker, series.at).mean())
            held = float(s.pools.decode_held.level(worker, series.at).mean())
            capacity = float(s.pools.kv_capacity(worker[:1])[0])
            least = LEAST_HELD * capacity if np.isfinite(capacity) else LEAST_HELD_TOKENS
            enough = streams if signal == "running" else streams * (held > least)
            if enough >= 2.0:
                seen = f"the spans show {streams:.1f} streams at once"
                detail = f"the gauge of {what} of {s.name(code)} reads 0 throughout while {seen}"
                return Finding("metric_dead", "warning", detail)
    return None


def histogram_saturated(s: Situation, _: Attribution) -> Finding | None:
    """Most values lie above the top finite bucket: quantiles are floors."""
    for item in by_pool(s):
        if item.saturated and item.bounds:
            detail = f"{item.above_top:.0%} of {item.metric} lies above its top bucket ({item.bounds[-1]:g})"
            return Finding(
                "histogram_saturated", "info", detail, None, number("top_bucket", item.bounds[-1], item.unit)
            )
    return None
