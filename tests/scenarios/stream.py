"""Tokens on their way out: the network, one core that writes them, and clients that do not read.

Decode does not wait for readers, so all of this happens after the model has been played.
"""

from __future__ import annotations

import numpy as np

from .life import Life, Steps
from .spec import Spec, ns

ROUTER = "router-0"


def token_times(runs: list[Steps]) -> np.ndarray:
    """When each token of an answer was sampled, ns."""
    parts = []
    for run in runs:
        i = np.arange(1, run.tokens + 1)
        parts.append(run.start + i * run.first + run.growth * (i * (i - 1) / 2))
    return np.concatenate(parts) if parts else np.zeros(0)


def send_out(spec: Spec, lives: list[Life]) -> None:
    """Set when the client was sent the first and last token, and when the request ended."""
    streaming = [life for life in lives if life.outcome == "ok"]
    written = _one_writer(spec, streaming) if spec.router.egress_token_s > 0 else None
    network = ns(spec.router.network_s)
    for i, life in enumerate(streaming):
        if life.sampled_first is None or life.sampled_last is None:
            raise RuntimeError(f"request {life.ask.index} ended ok without tokens")
        first, last = written[i] if written is not None else (life.sampled_first, life.sampled_last)
        lag_first, lag = _stall(spec, life)
        life.stalled_ns = lag
        life.sent_first = first + network + lag_first
        life.sent_last = max(last + network + lag, life.sent_first)
        life.ended = life.sent_last
        life.spent("network_streaming", life.sampled_first, life.sent_first, ROUTER)


def _stall(spec: Spec, life: Life) -> tuple[int, int]:
    """How far a slow reader lags behind at its first and its last token, ns."""
    draws, clients = life.ask.draws, spec.clients
    if draws.stall >= clients.stall_share:
        return 0, 0
    lag = clients.stall_s * (0.6 + 0.8 * draws.stall_length)
    return ns(lag * clients.stall_first), ns(lag)


def _one_writer(spec: Spec, lives: list[Life]) -> list[tuple[int, int]]:
    """First and last departure of each answer through a single server, first come first served (Lindley)."""
    times = [token_times(life.steps) for life in lives]
    owner = np.concatenate([np.full(len(t), i) for i, t in enumerate(times)]) if times else np.zeros(0, int)
    arrivals = np.concatenate(times) if times else np.zeros(0)
    order = np.argsort(arrivals, kind="stable")
    service = spec.router.egress_token_s * 1e9
    ordinal = np.arange(len(order))
    departures = np.empty(len(order))
    departures[order] = np.maximum.accumulate(arrivals[order] - service * ordinal) + service * (ordinal + 1)
    first = np.full(len(lives), np.inf)
    last = np.zeros(len(lives))
    np.minimum.at(first, owner, departures)
    np.maximum.at(last, owner, departures)
    return [(round(a), round(b)) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
